//! A region after the program has done nothing for a while.

use std::thread;

use crate::results::{Job, Measured};
use crate::runtimes::Runtime;
use crate::timing;

/// One sample a gap. The gap before the first leaves the team in the state that all others find it in.
pub(crate) fn region(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let gap = job.case.gap().ok_or("this case has no gap")?;
    let members = runtime.members();
    for _ in 0..job.effort.samples_after_idle(job.case) {
        thread::sleep(gap);
        measured.samples.push(timing::nanoseconds(|| runtime.empty_regions(members, 1)));
    }
    Ok(())
}
