//! Runs an example's work in several ways, side by side: one thread, Rayon and hive. `docs/examples/compare/run` does
//! that for all examples and files the figures.

#![allow(dead_code, reason = "each example uses what it needs")]

use std::thread;
use std::time::{Duration, Instant};

/// A name, and the work. The first of several is the one that the others are compared with.
pub(crate) type Way<'w> = (&'w str, &'w mut dyn FnMut());

/// Whether the user asks for a comparison: `cargo run --release --example NAME -- --compare`.
pub(crate) fn wanted() -> bool {
    std::env::args().any(|argument| argument == "--compare")
}

/// Runs all ways in turn, round after round, and prints the median time of each and the median of its time over that of
/// the first way in the same round. A round takes each way about as long as `ROUND`.
pub(crate) fn compare(program: &str, ways: &mut [Way<'_>]) {
    const ROUNDS: usize = 31;
    const ROUND: Duration = Duration::from_millis(20);
    let runs: Vec<u32> = ways
        .iter_mut()
        .map(|(_, work)| {
            work();
            let once = time(1, work);
            (ROUND.as_nanos() / once.as_nanos().max(1)).clamp(1, 100_000) as u32
        })
        .collect();
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for (way, (_, work)) in ways.iter_mut().enumerate() {
            // No way pays for the threads that the one before it has left polling, and each begins with its own awake.
            hive::stop_spinning();
            thread::sleep(Duration::from_millis(1));
            work();
            times[way].push(time(runs[way], work).as_secs_f64() / f64::from(runs[way]));
        }
    }
    println!("{program}: {ROUNDS} rounds, medians");
    for ((name, _), own) in ways.iter().zip(&times) {
        let ratios = own.iter().zip(&times[0]).map(|(own, first)| own / first).collect();
        println!("    {name:<40} {:>10.1} us {:>6.2}", 1e6 * quantile(own.clone(), 0.5), quantile(ratios, 0.5));
    }
}

/// Runs each way once every `gap`, as a program does that waits for its input, and prints how long the calls take.
pub(crate) fn compare_paced(program: &str, gap: Duration, ways: &mut [Way<'_>]) {
    const CALLS: usize = 500;
    println!("{program}: a call every {gap:?}, {CALLS} calls");
    for (name, work) in ways.iter_mut() {
        hive::stop_spinning();
        let call = |_| {
            thread::sleep(gap);
            time(1, work).as_secs_f64()
        };
        print_latencies(name, (0..CALLS).map(call).collect());
    }
}

/// Prints how long calls have taken, in seconds: the median, and what one of a hundred exceeds.
pub(crate) fn print_latencies(name: &str, times: Vec<f64>) {
    let (p50, p99) = (1e6 * quantile(times.clone(), 0.5), 1e6 * quantile(times, 0.99));
    println!("    {name:<40} p50 {p50:>8.1} us, p99 {p99:>8.1} us");
}

fn time(runs: u32, work: &mut dyn FnMut()) -> Duration {
    let begin = Instant::now();
    (0..runs).for_each(|_| work());
    begin.elapsed()
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// Numbers from 0 up to 1 without a pattern: the same for the same `i`.
pub(crate) fn random(i: u64) -> f64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
