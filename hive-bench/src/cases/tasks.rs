//! The cases that are done by tasks. The team need not know regions for them.

use crate::catalog::Case;
use crate::record::{Job, Measured};
use crate::runtimes::tasks::Tasks;

use super::{idle_use, join, spawn, wake};

/// Measures the job's case with the team that is up and running.
pub(crate) fn run(runtime: &mut impl Tasks, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let budget = &job.budget;
    match job.case {
        Case::JoinFib => join::fib(runtime, budget, measured),
        Case::JoinTree => join::tree(runtime, budget, measured),
        Case::JoinComb => join::comb(runtime, budget, measured),
        Case::TreeSearch => join::tree_search(runtime, budget, measured),
        Case::SpawnSingle => spawn::single(runtime, budget, measured),
        Case::SpawnProducers => spawn::producers(runtime, job.threads, budget, measured),
        Case::SpawnOutside => spawn::outside(runtime, budget, measured),
        case if case.wake_gap().is_some() => wake::task(runtime, job, measured),
        _ => idle_use::after_tasks(runtime, job, measured),
    }
}
