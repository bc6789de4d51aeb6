//! A region, or a parallel loop, after the program has done nothing for a while: what most programs with short loops
//! meet.

use std::thread;
use std::time::Duration;

use super::{Samples, numbers};
use crate::kernels::kernel::Kernel;
use crate::kernels::roots::Roots;
use crate::measure::hand_over::HandOver;
use crate::measure::timing;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::loops::Loops;

/// Regions that do not count, after gaps of at most `UNCOUNTED_GAP`. A runtime may learn from the first regions that
/// come late how its threads had better sleep.
const UNCOUNTED: u32 = 4;
const UNCOUNTED_GAP: Duration = Duration::from_millis(5);
/// Loops before the first gap.
const WARM_UP: u64 = 20;

pub(super) fn region(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Samples {
    let gap = job.case.gap().ok_or("this case has no gap")?;
    let threads = runtime.threads();
    let region = || Ok(timing::nanoseconds(|| runtime.empty_regions(threads, 1)));
    after_gaps(job, gap, (UNCOUNTED, gap.min(UNCOUNTED_GAP)), measured, region)
}

/// One loop does not count. A runtime may learn from it how long the loop takes.
pub(super) fn cold_loop(runtime: &mut (impl Runtime + Loops), job: &Job, measured: &mut Measured) -> Samples {
    let (_, gap) = job.case.cold_loop().ok_or("this case has no loop after a gap")?;
    let mut kernel = Roots::new(numbers(job, measured)?);
    kernel.run(runtime, WARM_UP);
    kernel.answer()?;
    after_gaps(job, gap, (1, gap), measured, || {
        let took = timing::nanoseconds(|| kernel.run(runtime, 1));
        kernel.answer()?;
        Ok(took)
    })
}

/// One sample for each gap. There is one more gap before the first, so that the first sample finds the team in the same
/// state as the others.
///
/// An idle core wakes the more slowly the less it had to do lately. For a fair comparison the bare hand-over takes
/// turns with the case, if the runtime leaves it a core.
fn after_gaps(
    job: &Job,
    gap: Duration,
    (uncounted, uncounted_gap): (u32, Duration),
    measured: &mut Measured,
    mut run: impl FnMut() -> Result<f64, String>,
) -> Samples {
    // A thread that sleeps like the runtime's second one and is bound like it. There is none if the runtime's threads
    // do not sleep by then, because they would share a CPU with this thread.
    let mut sleeper = match job.cpus[..] {
        [_, there, ..] if job.runtime.sleeps_after(gap) => Some(HandOver::start(job.place(there))),
        _ => None,
    };
    for _ in 0..uncounted {
        thread::sleep(uncounted_gap);
        run()?;
    }
    let sample = |_| {
        thread::sleep(gap);
        let took = run()?;
        if let Some(sleeper) = &mut sleeper {
            thread::sleep(gap);
            measured.add_asked(sleeper.ask());
        }
        Ok(took)
    };
    (0..job.budget.samples_after_gap(gap)).map(sample).collect()
}
