//! A server: four threads take requests, and each request is a small parallel sum. All of them use the one global hive;
//! `par_reduce` runs where it ends soonest, on the bees or on the request's own thread.
//!
//!     cargo run --release --example server [-- --compare]

mod compare;

use std::thread;
use std::time::{Duration, Instant};

use hive::Reduction;
use rayon::prelude::*;

const THREADS: usize = 4;

/// One of them answers a request.
type Answer<'a> = &'a (dyn Fn(&[f64]) -> f64 + Sync);

/// Lets each thread answer so many requests over `data`, with so much time from the end of one to the next. Returns how
/// long each took, in seconds.
fn serve(data: &[f64], requests: usize, gap: Duration, answer: Answer<'_>) -> Vec<f64> {
    let expected = sum(data);
    let take_requests = |thread: usize| {
        let wait = |request: usize| gap.mul_f64(2.0 * compare::random((thread * requests + request) as u64));
        let serve_one = |request| {
            if !gap.is_zero() {
                thread::sleep(wait(request));
            }
            let begin = Instant::now();
            let sum = answer(data);
            let taken = begin.elapsed().as_secs_f64();
            assert!((sum - expected).abs() < 1e-9 * expected, "{sum} should be {expected}");
            taken
        };
        (0..requests).map(serve_one).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || take_requests(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("all sums are right")).collect()
    })
}

fn sum(data: &[f64]) -> f64 {
    data.iter().map(|x| x.sqrt()).sum()
}

fn by_hive(data: &[f64]) -> f64 {
    let add = Reduction::deterministic(0.0, |a, b| a + b);
    hive::par_reduce(0..data.len(), &add, |range| sum(&data[range]))
}

fn by_rayon(data: &[f64]) -> f64 {
    data.par_chunks(512).map(sum).sum()
}

fn main() {
    let data: Vec<f64> =
        (0..if cfg!(debug_assertions) { 20_000 } else { 400_000 }).map(|i| 1.0 + compare::random(i)).collect();
    let small = &data[..4_000];
    let ways: [(&str, Answer<'_>); 3] = [("one thread", &sum), ("Rayon", &by_rayon), ("hive", &by_hive)];
    for (_, answer) in ways {
        serve(small, 50, Duration::from_micros(100), answer);
        serve(&data, 5, Duration::ZERO, answer);
    }
    println!("{THREADS} threads have served sums of {} and {} by {} bees", small.len(), data.len(), hive::bees());
    if compare::wanted() {
        let loads = [
            ("small sums, one each millisecond or so", small, 2_000, Duration::from_millis(1)),
            ("small sums, one after another", small, 5_000, Duration::ZERO),
            ("large sums, one after another", &data[..], 200, Duration::ZERO),
        ];
        for (load, data, requests, gap) in loads {
            println!("a server with {THREADS} threads: {load}");
            for (name, answer) in ways {
                hive::stop_spinning();
                let begin = Instant::now();
                let times = serve(data, requests, gap, answer);
                compare::print_latencies(name, times);
                let all = begin.elapsed().as_secs_f64();
                println!("    {:<40} {:.0} requests a second", "", (THREADS * requests) as f64 / all);
            }
        }
    }
}
