//! A region after the program has done nothing for a while.

use std::thread;
use std::time::Duration;

use crate::measure::reference::hand_over::HandOver;
use crate::measure::timing;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;

/// Regions that do not count, after gaps of at most `UNCOUNTED_GAP`. A runtime may learn from the first regions that
/// come late how its threads had better sleep.
const UNCOUNTED: u32 = 4;
const UNCOUNTED_GAP: Duration = Duration::from_millis(5);

/// One sample for each gap. There is one more gap before the first, so that the first sample finds the team in the same
/// state as the others.
///
/// An idle core wakes the more slowly the less it had to do lately. For a fair comparison the bare hand-over takes
/// turns with the region, if the runtime leaves it a core.
pub(crate) fn region(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let gap = job.case.gap().ok_or("this case has no gap")?;
    let threads = runtime.threads();
    let mut sleeper = sleeper(job, gap);
    for _ in 0..UNCOUNTED {
        thread::sleep(gap.min(UNCOUNTED_GAP));
        runtime.empty_regions(threads, 1);
    }
    for _ in 0..job.budget.samples_after_gap(gap) {
        thread::sleep(gap);
        measured.samples.push(timing::nanoseconds(|| runtime.empty_regions(threads, 1)));
        if let Some(sleeper) = &mut sleeper {
            thread::sleep(gap);
            measured.add_asked(sleeper.ask());
        }
    }
    Ok(())
}

/// A thread that sleeps like the runtime's second one and is bound like it. `None` if the runtime's threads do not
/// sleep by then, because they would share a CPU with this thread.
pub(super) fn sleeper(job: &Job, gap: Duration) -> Option<HandOver> {
    match job.cpus[..] {
        [_, there, ..] if job.runtime.sleeps_after(gap) => HandOver::start(job.place(there)),
        _ => None,
    }
}
