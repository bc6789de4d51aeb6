//! Giving CPUs away and taking them back.

use std::time::Instant;

use crate::measure::timing;
use crate::record::Budget;
use crate::record::Measured;
use crate::runtimes::Runtime;

/// Regions of all before each shrink: the bees are awake, as in a program that is at work.
const REGIONS_BETWEEN: u64 = 20;

/// From the call until the surplus bees are parked.
pub(crate) fn shrink(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let (shrinks, _) = cycles(runtime, budget)?;
    measured.samples = shrinks;
    Ok(())
}

/// From the call until a region of all has run.
pub(crate) fn grow(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let (_, grows) = cycles(runtime, budget)?;
    measured.samples = grows;
    Ok(())
}

fn cycles(runtime: &mut impl Runtime, budget: &Budget) -> Result<(Vec<f64>, Vec<f64>), String> {
    let threads = runtime.threads();
    let (mut shrinks, mut grows) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while shrinks.is_empty() || begin.elapsed() < budget.batch_time() {
        runtime.empty_regions(threads, REGIONS_BETWEEN);
        let mut outcome = Ok(());
        shrinks.push(timing::nanoseconds(|| outcome = runtime.resize_and_wait(1)));
        outcome?;
        let mut outcome = Ok(());
        grows.push(timing::nanoseconds(|| {
            outcome = runtime.resize_and_wait(threads);
            runtime.empty_regions(threads, 1);
        }));
        outcome?;
    }
    Ok((shrinks, grows))
}
