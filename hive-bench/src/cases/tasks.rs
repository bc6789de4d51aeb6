//! The cases that are done by tasks. The team need not know regions for them.

use crate::catalog::Case;
use crate::results::{Job, Measured};
use crate::runtimes::tasks::Tasks;

use super::{idle_use, join, spawn, wake};

/// Measures the job's case with the team that is up and running.
pub(crate) fn run(runtime: &mut impl Tasks, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let effort = &job.effort;
    match job.case {
        Case::JoinFib => join::fib(runtime, effort, measured),
        Case::JoinTree => join::tree(runtime, effort, measured),
        Case::Steal => join::steal(runtime, effort, measured),
        Case::SpawnFlood => spawn::flood(runtime, effort, measured),
        Case::SpawnProducers => spawn::producers(runtime, job.members, effort, measured),
        Case::SpawnOutside => spawn::outside(runtime, effort, measured),
        case if case.wake_gap().is_some() => wake::task(runtime, job, measured),
        _ => idle_use::after_tasks(runtime, job, measured),
    }
}
