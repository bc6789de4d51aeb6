//! Compares programs that were built twice: with Rayon's own rayon-core, and with the drop-in one. Runs the two builds
//! in pairs, in alternating order, and prints a table of ratios that are taken within the pairs.

mod options;
mod process;
#[allow(dead_code, reason = "one file of quantiles for all programs of hive-bench")]
#[path = "../../../../src/stats/quantiles.rs"]
mod quantiles;
mod statistics;
mod table;

use std::collections::BTreeMap;
use std::io::IsTerminal;

use options::{Options, Pair};
use process::Figures;

fn main() {
    let options = Options::read(std::env::args().skip(1)).unwrap_or_else(|message| {
        eprintln!("compare: {message}\n{}", options::USAGE);
        std::process::exit(2);
    });
    let rows: Vec<(&Pair, usize)> =
        options.pairs.iter().flat_map(|pair| options.threads.iter().map(move |&threads| (pair, threads))).collect();
    let mut samples: BTreeMap<usize, Vec<[Figures; 2]>> = BTreeMap::new();
    let mut failures = 0;
    let terminal = std::io::stderr().is_terminal();
    for round in 0..options.rounds {
        for (number, (pair, threads)) in rows.iter().enumerate() {
            if terminal {
                eprint!("\rround {} of {}: {}, {threads} threads\x1b[K", round + 1, options.rounds, pair.name);
            }
            // Which build is first alternates over the rounds, and within a round over the rows.
            match run_pair(pair, *threads, (round + number) % 2 == 1, options.times_itself) {
                Ok(figures) => samples.entry(number).or_default().push(figures),
                Err(message) => {
                    eprintln!("compare: {} with {threads} threads: {message}", pair.name);
                    failures += 1;
                }
            }
        }
    }
    if terminal {
        eprint!("\r\x1b[K");
    }
    print!("{}", table::text(&rows, &samples, !options.times_itself));
    if failures > 0 {
        eprintln!("compare: {failures} pairs failed");
        std::process::exit(1);
    }
}

/// Runs both builds, and returns Rayon's figures and hive's.
fn run_pair(pair: &Pair, threads: usize, hive_first: bool, times_itself: bool) -> Result<[Figures; 2], String> {
    let run = |build: usize| process::run(&pair.commands[build], threads, times_itself);
    if hive_first {
        let hive = run(1)?;
        Ok([run(0)?, hive])
    } else {
        Ok([run(0)?, run(1)?])
    }
}
