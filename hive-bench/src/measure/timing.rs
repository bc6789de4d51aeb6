//! Timing something that takes nanoseconds: in batches that are long compared with reading the clock, and short
//! compared with the time between disturbances.

use std::time::{Duration, Instant};

use crate::record::Budget;
use crate::stats::median;

/// A batch lasts about this long.
const BATCH: Duration = Duration::from_micros(500);
/// Until caches, predictors and clock rates have settled.
const WARM_UP: Duration = Duration::from_millis(5);

/// Nanoseconds for one of whatever `run(times)` does `times` times: a sample for each batch.
pub(crate) fn batches(budget: &Budget, mut run: impl FnMut(u64)) -> Vec<f64> {
    let [samples] = batches_in_turn(budget, |_, times| run(times));
    samples
}

/// The same for something that may fail.
pub(crate) fn try_batches(budget: &Budget, mut run: impl FnMut(u64) -> Result<(), String>) -> Samples {
    let mut outcome = Ok(());
    let samples = batches(budget, |times| {
        let result = run(times);
        outcome = outcome.clone().and(result);
    });
    outcome.map(|()| samples)
}

/// The same for several things, `run(which, times)`, a batch of each in turn, so that they meet the same conditions.
pub(crate) fn batches_in_turn<const N: usize>(budget: &Budget, mut run: impl FnMut(usize, u64)) -> [Vec<f64>; N] {
    let sizes: [u64; N] = std::array::from_fn(|which| batch_size(|times| run(which, times)));
    let mut samples: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let begin = Instant::now();
    while samples[0].is_empty() || begin.elapsed() < budget.batch_time() {
        for (which, samples) in samples.iter_mut().enumerate() {
            if N > 1 {
                // A thread may have gone to sleep during the kind before. The next batch must not pay for waking it.
                run(which, sizes[which].div_ceil(16));
            }
            samples.push(nanoseconds(|| run(which, sizes[which])) / sizes[which] as f64);
        }
    }
    samples
}

/// The medians over the batches of so many passes, each of which is as `batches_in_turn`.
pub(crate) fn medians_in_turn<const N: usize>(passes: usize, mut run: impl FnMut(usize, u64)) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..passes {
        let pass: [Vec<f64>; N] = batches_in_turn(&Budget::STANDARD, &mut run);
        samples.iter_mut().zip(pass).for_each(|(all, more)| all.extend(more));
    }
    samples.map(|samples| median(&samples).unwrap_or(f64::NAN))
}

/// Samples in a case's unit, or why there are none.
pub(crate) type Samples = Result<Vec<f64>, String>;

/// Nanoseconds for one of the `parts` of something that takes milliseconds and may fail: one sample for each run.
pub(crate) fn runs(budget: &Budget, parts: u64, mut run: impl FnMut() -> Result<(), String>) -> Samples {
    let mut samples = Vec::new();
    let begin = Instant::now();
    while samples.is_empty() || begin.elapsed() < budget.batch_time() {
        samples.push(try_nanoseconds(&mut run)? / parts as f64);
    }
    Ok(samples)
}

/// Nanoseconds that `run` takes.
pub(crate) fn nanoseconds(run: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    run();
    begin.elapsed().as_nanos() as f64
}

/// The same for something that may fail.
pub(crate) fn try_nanoseconds(run: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let mut outcome = Ok(());
    let took = nanoseconds(|| outcome = run());
    outcome.map(|()| took)
}

/// How many make up a batch, found by running it warm.
fn batch_size(mut run: impl FnMut(u64)) -> u64 {
    let begin = Instant::now();
    let mut times = 1;
    loop {
        let took = nanoseconds(|| run(times));
        let long_enough = took >= BATCH.as_nanos() as f64;
        if !long_enough {
            times *= 2;
        } else if begin.elapsed() >= WARM_UP {
            return times;
        } else if took >= 2.0 * BATCH.as_nanos() as f64 {
            times = (times / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_ends_them() {
        let mut left = 2;
        let run = || {
            left -= 1;
            if left > 0 { Ok(()) } else { Err("broken".to_owned()) }
        };
        assert_eq!(runs(&Budget::QUICK, 1, run), Err("broken".to_owned()));
        assert!(!runs(&Budget::QUICK, 1, || Ok(())).unwrap().is_empty());
    }

    #[test]
    fn each_kind_gets_as_many_samples() {
        let mut runs = [0_u64; 2];
        let samples: [Vec<f64>; 2] = batches_in_turn(&Budget::QUICK, |which, times| {
            for i in 0..times {
                runs[which] = std::hint::black_box(runs[which] + i % 2);
            }
        });
        assert!(!samples[0].is_empty());
        assert_eq!(samples[0].len(), samples[1].len());
        assert!(samples.iter().flatten().all(|ns| *ns > 0.0));
    }
}
