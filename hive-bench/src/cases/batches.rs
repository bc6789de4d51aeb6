//! What can be repeated without a pause: regions, sums, barriers, changing sizes.

use std::sync::Mutex;

use crate::measure::reference::mutex;
use crate::measure::timing;
use crate::record::Budget;
use crate::record::{Measured, Reference};
use crate::runtimes::Runtime;

/// Empty regions; a team of one in turn with a mutex.
pub(crate) fn region(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let threads = runtime.threads();
    if threads > 1 {
        measured.samples = timing::batches(budget, |times| runtime.empty_regions(threads, times));
        return Ok(());
    }
    let counter = Mutex::new(0);
    let [regions, locks] = timing::batches_in_turn(budget, |which, times| match which {
        0 => runtime.empty_regions(1, times),
        _ => mutex::lock_and_unlock(&counter, times),
    });
    measured.samples = regions;
    measured.references.insert(Reference::Mutex, locks);
    Ok(())
}

/// Regions with a sum, which must be right.
pub(crate) fn reduce(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let threads = runtime.threads();
    let expected = (threads * (threads + 1) / 2) as f64;
    let mut wrong = None;
    measured.samples = timing::batches(budget, |times| {
        let sum = runtime.sums(times);
        if sum != expected * times as f64 {
            wrong = Some(sum / times as f64);
        }
    });
    wrong.map_or(Ok(()), |sum| Err(format!("wrong answer: the sum is {sum}, not {expected}")))
}

/// Regions in turn with parallel iterators' sums, which must be right.
pub(crate) fn rayon_interop(
    runtime: &mut impl Runtime,
    budget: &Budget,
    measured: &mut Measured,
) -> Result<(), String> {
    let data = [1.0; 1 << 12];
    let mut outcome = Ok(());
    measured.samples = timing::batches(budget, |times| match runtime.regions_and_iterators(times, &data) {
        Ok(sum) if sum == data.len() as f64 * times as f64 => {}
        Ok(sum) => outcome = Err(format!("wrong answer: {times} sums of {} ones are {sum}", data.len())),
        Err(error) => outcome = Err(error),
    });
    outcome
}

/// Barriers, many in one region.
pub(crate) fn barrier(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let mut outcome = Ok(());
    measured.samples = timing::batches(budget, |times| {
        if let Err(error) = runtime.barriers(times) {
            outcome = Err(error);
        }
    });
    outcome
}

/// Regions of 1, n, 1, n, ... in turn with as many of 1 and as many of n.
pub(crate) fn alternating_sizes(
    runtime: &mut impl Runtime,
    budget: &Budget,
    measured: &mut Measured,
) -> Result<(), String> {
    let threads = runtime.threads();
    let [pairs, ones, alls] = timing::batches_in_turn(budget, |which, times| match which {
        0 => runtime.alternate(times),
        1 => runtime.empty_regions(1, times),
        _ => runtime.empty_regions(threads, times),
    });
    measured.samples = pairs.into_iter().map(|pair| pair / 2.0).collect();
    let means = ones.into_iter().zip(alls).map(|(one, all)| f64::midpoint(one, all)).collect();
    measured.references.insert(Reference::Mean, means);
    Ok(())
}
