//! What can be repeated without a pause: regions, sums, barriers, changing sizes.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

#[cfg(feature = "rayon-interop")]
use rayon::prelude::*;

use super::{Samples, check};
use crate::catalog::work;
use crate::measure::timing;
use crate::record::{Budget, Measured, Reference};
use crate::runtimes::Runtime;
#[cfg(feature = "rayon-interop")]
use crate::runtimes::hive::HiveTeam;
#[cfg(feature = "rayon-interop")]
use crate::runtimes::rayon::RayonPool;

/// Regions of all before each shrink: the bees are awake, as in a program that is at work.
const REGIONS_BETWEEN: u64 = 20;

/// Empty regions; a team of one in turn with a mutex.
pub(super) fn region(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Vec<f64> {
    let threads = runtime.threads();
    if threads > 1 {
        return timing::batches(budget, |times| runtime.empty_regions(threads, times));
    }
    let counter = Mutex::new(0_u64);
    let [regions, locks] = timing::batches_in_turn(budget, |which, times| match which {
        0 => runtime.empty_regions(1, times),
        _ => (0..times).for_each(|_| *black_box(&counter).lock().expect("nobody panics with it") += 1),
    });
    measured.references.insert(Reference::Mutex, locks);
    regions
}

/// Regions with a sum, which must be right.
pub(super) fn reduce(runtime: &mut impl Runtime, budget: &Budget) -> Samples {
    let threads = runtime.threads();
    let sum = (threads * (threads + 1) / 2) as f64;
    timing::try_batches(budget, |times| check("the sum of sums", runtime.sums(times), sum * times as f64))
}

/// Regions in turn with parallel iterators' sums, which must be right. rayon's workers are the hive's bees, or those of
/// the pool `beside` it.
#[cfg(feature = "rayon-interop")]
pub(crate) fn rayon_interop(team: &mut HiveTeam, beside: Option<&RayonPool>, budget: &Budget) -> Samples {
    let (threads, data) = (team.threads, [1.0; 1 << 12]);
    let sum = || data.par_iter().sum::<f64>();
    timing::try_batches(budget, |times| {
        let mut total = 0.0;
        for _ in 0..times {
            team.empty_regions(threads, 1);
            total += match &beside {
                None => team.hive.rayon(threads, sum),
                Some(beside) => beside.pool.install(sum),
            };
        }
        check("the sum of sums", total, data.len() as f64 * times as f64)
    })
}

/// Regions of 1, n, 1, n, ... in turn with as many of 1 and as many of n.
pub(super) fn alternating_sizes(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Vec<f64> {
    let threads = runtime.threads();
    let [pairs, ones, alls] = timing::batches_in_turn(budget, |which, times| match which {
        0 => runtime.alternate(times),
        1 => runtime.empty_regions(1, times),
        _ => runtime.empty_regions(threads, times),
    });
    let means = ones.into_iter().zip(alls).map(|(one, all)| f64::midpoint(one, all)).collect();
    measured.references.insert(Reference::Mean, means);
    pairs.into_iter().map(|pair| pair / 2.0).collect()
}

/// How short a task may be for half of the threads' time to be work: the minimum effective task granularity of Task
/// Bench (E. Slaughter et al., Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance,
/// 2020), METG(50 %), with one task for each thread in a step, and a region for each step.
pub(super) fn metg(runtime: &mut impl Runtime, budget: &Budget) -> Samples {
    /// Longer tasks are not tried.
    const LONGEST: f64 = 1e6;
    const STEPS: u64 = 100;
    let threads = runtime.threads();
    let each = |run: &mut dyn FnMut()| timing::nanoseconds(|| (0..STEPS).for_each(|_| run())) / STEPS as f64;
    let mut shortest = || {
        let mut length = 16;
        loop {
            let task = each(&mut || work(length));
            if each(&mut || runtime.region(threads, |_| work(length))) <= 2.0 * task {
                return Ok(task);
            }
            if task > LONGEST {
                return Err("not even tasks of a millisecond take half of the threads' time".to_owned());
            }
            length += length / 4;
        }
    };
    let (begin, mut samples) = (Instant::now(), Vec::new());
    while samples.is_empty() || begin.elapsed() < budget.batch_time() {
        samples.push(shortest()?);
    }
    Ok(samples)
}

/// Shrinks the team to so many and lets it grow again, in turn. Each time there is a sample from the call until the
/// surplus bees are parked, one of the next region, of those that are left, and one from the call that brings all back
/// until a region of all has run.
pub(crate) fn resize(runtime: &mut impl Runtime, few: usize, budget: &Budget) -> Result<[Vec<f64>; 3], String> {
    let all = runtime.threads();
    let [mut shrinks, mut first_regions, mut grows] = [const { Vec::new() }; 3];
    let begin = Instant::now();
    while shrinks.is_empty() || begin.elapsed() < budget.batch_time() {
        runtime.empty_regions(all, REGIONS_BETWEEN);
        shrinks.push(timing::try_nanoseconds(|| runtime.resize_and_wait(few))?);
        first_regions.push(timing::nanoseconds(|| runtime.empty_regions(few, 1)));
        grows.push(timing::try_nanoseconds(|| {
            runtime.resize_and_wait(all)?;
            runtime.empty_regions(all, 1);
            Ok(())
        })?);
    }
    Ok([shrinks, first_regions, grows])
}
