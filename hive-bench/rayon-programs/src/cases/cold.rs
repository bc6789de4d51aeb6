//! Parallel work after the program has slept: how long it takes, and the CPU time of lone calls.

use std::thread::sleep;
use std::time::Duration;

use rayon::prelude::*;

use super::{Case, Iteration, case, timed};
use crate::numbers::Numbers;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "cold-2ms-outside",
            "par_iter().sum() of about 50 us after 2 ms of sleep, from outside of the pool",
            || outside(Duration::from_millis(2)),
        ),
        case("cold-2ms-inside", "the same by a thread of the pool, which slept itself", || {
            inside(SHORT, Duration::from_millis(2))
        }),
        case("cold-20ms-outside", "as cold-2ms-outside, after 20 ms", || outside(Duration::from_millis(20))),
        case("cold-20ms-inside", "as cold-2ms-inside, after 20 ms", || inside(SHORT, Duration::from_millis(20))),
        case("cold-long-inside", "as cold-20ms-inside, a sum of about 1 ms", || {
            inside(LONG, Duration::from_millis(20))
        }),
        case("cpu-1ms", "CPU time, by all threads, of an empty join from outside and 1 ms of sleep", || {
            cpu_time_of_lone_joins(Duration::from_millis(1))
        }),
        case("cpu-5ms", "the same with 5 ms of sleep", || cpu_time_of_lone_joins(Duration::from_millis(5))),
    ]
}

/// How many numbers are added up in about 50 us.
const SHORT: usize = 12_000;

/// The same in about 1 ms.
const LONG: usize = 20 * SHORT;

/// Sleeps, and then adds up the roots. The sum is rounded in another way each time.
fn sum_after(gap: Duration, numbers: &[f64], expected: f64) -> Duration {
    sleep(gap);
    let (time, sum) = timed(|| numbers.par_iter().map(|x| x.sqrt()).sum::<f64>());
    assert!((sum / expected - 1.0).abs() < 1e-9, "the sum is {sum}, not {expected}");
    time
}

fn outside(gap: Duration) -> Iteration {
    let numbers = Numbers::fractions(6, SHORT);
    let expected = numbers.iter().map(|x| x.sqrt()).sum();
    Box::new(move || sum_after(gap, &numbers, expected))
}

fn inside(length: usize, gap: Duration) -> Iteration {
    let numbers = Numbers::fractions(6, length);
    let expected = numbers.iter().map(|x| x.sqrt()).sum();
    // The scope's closure runs in the pool.
    Box::new(move || rayon::scope(|_| sum_after(gap, &numbers, expected)))
}

/// Its time is no time that it takes, but the CPU time that it costs.
fn cpu_time_of_lone_joins(gap: Duration) -> Iteration {
    Box::new(move || {
        let begin = cpu_time();
        rayon::join(|| (), || ());
        sleep(gap);
        cpu_time() - begin
    })
}

/// The CPU time of the process until now.
fn cpu_time() -> Duration {
    // SAFETY: a `timespec` is two numbers, for which zeros are valid.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is large enough.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "POSIX has this clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
