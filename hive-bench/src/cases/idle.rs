//! A region after the program has done nothing for a while.

use std::thread;

use crate::reference::hand_over::HandOver;
use crate::results::{Job, Measured, Reference};
use crate::runtimes::Runtime;
use crate::timing;

/// One sample a gap. The gap before the first leaves the team in the state that all others find it in.
///
/// A core that has been idle wakes the more slowly the less it has had to do of late. So the bare hand-over takes turns with the region, where the runtime leaves it
/// a core.
pub(crate) fn region(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let gap = job.case.gap().ok_or("this case has no gap")?;
    let members = runtime.members();
    let mut hand_over = match job.cpus[..] {
        [_, there, ..] if job.runtime.sleeps_after(gap) => HandOver::start(there),
        _ => None,
    };
    for _ in 0..job.effort.samples_after_gap(gap) {
        thread::sleep(gap);
        measured.samples.push(timing::nanoseconds(|| runtime.empty_regions(members, 1)));
        if let Some(hand_over) = &mut hand_over {
            thread::sleep(gap);
            measured.references.entry(Reference::HandOver).or_default().push(hand_over.ask());
        }
    }
    Ok(())
}
