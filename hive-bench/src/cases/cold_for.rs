//! A parallel loop after the program has done nothing for a while: what most programs with short loops meet.

use std::thread;

use super::idle::sleeper;
use super::work;
use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::roots::Roots;
use crate::measure::timing;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;

/// Loops before the first gap.
const WARM_UP: u64 = 20;

/// Loops after a gap that do not count. A runtime may learn from the first one how long the loop takes.
const UNCOUNTED: u32 = 1;

/// One sample for each gap. The bare post takes turns with the loop, for the same reason as in `idle`.
pub(crate) fn sum(runtime: &mut (impl Runtime + Kernels), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let cold = job.case.cold_loop().ok_or("this case has no loop after a gap")?;
    let mut kernel = Roots::new(work::numbers(job, measured)?);
    runtime.run(&mut kernel, WARM_UP);
    kernel.answer()?;
    let mut sleeper = sleeper(job, cold.gap);
    for _ in 0..UNCOUNTED {
        thread::sleep(cold.gap);
        runtime.run(&mut kernel, 1);
    }
    for _ in 0..job.budget.samples_after_gap(cold.gap) {
        thread::sleep(cold.gap);
        measured.samples.push(timing::nanoseconds(|| runtime.run(&mut kernel, 1)));
        kernel.answer()?;
        if let Some(sleeper) = &mut sleeper {
            thread::sleep(cold.gap);
            measured.add_asked(sleeper.ask());
        }
    }
    Ok(())
}
