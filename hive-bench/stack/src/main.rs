//! Runs one case of one size, on one thread and on all, in turn. Prints the median time of each in microseconds, and a
//! number by which results can be compared. Nothing in here knows which pools it is linked with.

mod cases;
#[allow(dead_code, reason = "one file of quantiles for all programs of hive-bench")]
#[path = "../../src/stats/quantiles.rs"]
mod quantiles;

use std::time::{Duration, Instant};

use faer::Par;

const USAGE: &str = "usage: stack-case --list | stack-case NAME SIZE MILLISECONDS";

/// Iterations on one thread and on all take turns after this time: long enough for a pool to be awake.
const TURN: Duration = Duration::from_millis(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--list"] => cases::NAMES.iter().for_each(|name| println!("{name}")),
        [name, size, milliseconds] => {
            let size = size.parse().expect("a size");
            let length = Duration::from_millis(milliseconds.parse().expect("a number of milliseconds"));
            let run = cases::prepare(name, size).expect("a case of --list");
            let ([alone, parallel], result) = measure(&*run, length);
            println!("{alone:.3} {parallel:.3} {result:e}");
        }
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

/// The median times in microseconds, on one thread and on all, of as many iterations as go into `length`, but at least
/// two turns of each; and the result on all threads.
fn measure(run: &dyn Fn(Par) -> f64, length: Duration) -> ([f64; 2], f64) {
    let (mut times, mut result) = ([const { Vec::new() }; 2], 0.0);
    let begin = Instant::now();
    for turn in 0.. {
        let which = turn % 2;
        if which == 0 && turn >= 4 && begin.elapsed() >= length {
            break;
        }
        let end = Instant::now() + TURN;
        loop {
            let begin = Instant::now();
            result = run(if which == 0 { Par::Seq } else { Par::rayon(0) });
            // The first turns warm up.
            if turn >= 2 {
                times[which].push(begin.elapsed().as_secs_f64() * 1e6);
            }
            if Instant::now() >= end {
                break;
            }
        }
    }
    (times.map(|times| quantiles::median(&times).expect("there are two turns of each")), result)
}
