//! Runs one case of one size again and again, and prints the median time of a run in microseconds, and a number by
//! which results can be compared. Nothing in here knows which pools it is linked with, nor how many threads they have.

mod cases;
#[allow(dead_code, reason = "one file of quantiles for all programs of hive-bench")]
#[path = "../../src/stats/quantiles.rs"]
mod quantiles;

use std::time::{Duration, Instant};

const USAGE: &str = "usage: stack-case --list | stack-case NAME SIZE THREADS MILLISECONDS
THREADS is what faer is told: 1 for one, 0 for as many as its pool has.";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--list"] => cases::ALL.iter().for_each(|(name, _)| println!("{name}")),
        [name, size, threads, milliseconds] => {
            let (_, prepare) = cases::ALL.iter().find(|(of_list, _)| *of_list == name).expect("a case of --list");
            cases::set_threads(threads.parse().expect("a number of threads"));
            let run = prepare(size.parse().expect("a size"));
            let length = Duration::from_millis(milliseconds.parse().expect("a number of milliseconds"));
            let (median, result) = measure(&*run, length);
            println!("{median:.3} {result:e}");
        }
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

/// The median time in microseconds of as many runs as go into `length`, after a quarter of it to warm up, but at least
/// three; and the result.
fn measure(run: &dyn Fn() -> f64, length: Duration) -> (f64, f64) {
    let (mut times, mut result) = (Vec::new(), 0.0);
    let warm = Instant::now() + length / 4;
    let end = warm + length;
    while times.len() < 3 || Instant::now() < end {
        let begin = Instant::now();
        result = run();
        if begin >= warm {
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
    }
    (quantiles::median(&times).expect("there are three at least"), result)
}
