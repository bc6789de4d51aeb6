//! A region after the program has done nothing for a while.

use std::thread;

use crate::measure::reference::hand_over::HandOver;
use crate::measure::timing;
use crate::record::{Job, Measured, Reference};
use crate::runtimes::Runtime;

/// One sample for each gap. There is one more gap before the first, so that the first sample finds the team in the same
/// state as the others.
///
/// An idle core wakes the more slowly the less it had to do lately. For a fair comparison the bare hand-over takes
/// turns with the region, if the runtime leaves it a core.
pub(crate) fn region(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let gap = job.case.gap().ok_or("this case has no gap")?;
    let threads = runtime.threads();
    let mut hand_over = match job.cpus[..] {
        [_, there, ..] if job.runtime.sleeps_after(gap) => HandOver::start(there),
        _ => None,
    };
    for _ in 0..job.budget.samples_after_gap(gap) {
        thread::sleep(gap);
        measured.samples.push(timing::nanoseconds(|| runtime.empty_regions(threads, 1)));
        if let Some(hand_over) = &mut hand_over {
            thread::sleep(gap);
            measured.references.entry(Reference::HandOver).or_default().push(hand_over.ask());
        }
    }
    Ok(())
}
