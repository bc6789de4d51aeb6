//! Runs one case and prints the median time of an iteration, in nanoseconds. Nothing in here knows which rayon-core it
//! is linked with.

mod cases;
mod numbers;
#[allow(dead_code, reason = "one file of quantiles for all programs of hive-bench")]
#[path = "../../src/stats/quantiles.rs"]
mod quantiles;

use std::time::{Duration, Instant};

use cases::Case;

const USAGE: &str = "usage: rayon-case --list | rayon-case NAME THREADS MILLISECONDS";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--list"] => cases::all().iter().for_each(|case| println!("{}\t{}", case.name, case.what)),
        [name, threads, milliseconds] => {
            let case = cases::all().into_iter().find(|case| case.name == name).expect("a case of --list");
            let threads = threads.parse().expect("a number of threads");
            let length = Duration::from_millis(milliseconds.parse().expect("a number of milliseconds"));
            println!("{}", measure(&case, threads, length));
        }
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

/// The median time of an iteration in nanoseconds, of as many as go into `length`, but at least three. A fifth as many
/// run before, to warm up.
fn measure(case: &Case, threads: usize, length: Duration) -> u128 {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the pool is built only here");
    assert_eq!(rayon::current_num_threads(), threads);
    let mut iteration = (case.prepare)();
    repeat(&mut iteration, length / 5, 1);
    let times = repeat(&mut iteration, length, 3);
    let times: Vec<f64> = times.iter().map(|time| time.as_nanos() as f64).collect();
    quantiles::median(&times).expect("there are at least three").round() as u128
}

/// Runs `iteration` until `length` is over, but at least so many times. Each returns its own time, so that what it does
/// before and after does not count.
fn repeat(iteration: &mut cases::Iteration, length: Duration, at_least: usize) -> Vec<Duration> {
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < at_least || begin.elapsed() < length {
        times.push(iteration());
    }
    times
}
