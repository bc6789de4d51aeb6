//! Giving CPUs away and taking them back.

use std::time::Instant;

use crate::effort::Effort;
use crate::results::Measured;
use crate::runtimes::Runtime;
use crate::timing;

/// Regions of all before each shrink: the bees are awake, as in a program that is at work.
const REGIONS_BETWEEN: u64 = 20;

/// From the call until the surplus bees are parked.
pub(crate) fn shrink(runtime: &mut impl Runtime, effort: &Effort, measured: &mut Measured) -> Result<(), String> {
    let (shrinks, _) = cycles(runtime, effort)?;
    measured.samples = shrinks;
    Ok(())
}

/// From the call until a region of all has run.
pub(crate) fn grow(runtime: &mut impl Runtime, effort: &Effort, measured: &mut Measured) -> Result<(), String> {
    let (_, grows) = cycles(runtime, effort)?;
    measured.samples = grows;
    Ok(())
}

fn cycles(runtime: &mut impl Runtime, effort: &Effort) -> Result<(Vec<f64>, Vec<f64>), String> {
    let members = runtime.members();
    let (mut shrinks, mut grows) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while shrinks.is_empty() || begin.elapsed() < effort.hot() {
        runtime.empty_regions(members, REGIONS_BETWEEN);
        let mut outcome = Ok(());
        shrinks.push(timing::nanoseconds(|| outcome = runtime.resize_and_settle(1)));
        outcome?;
        let mut outcome = Ok(());
        grows.push(timing::nanoseconds(|| {
            outcome = runtime.resize_and_settle(members);
            runtime.empty_regions(members, 1);
        }));
        outcome?;
    }
    Ok((shrinks, grows))
}
