//! Spawns: many empty tasks, until all have run.

use crate::cases::pending_tasks::PendingTasks;
use crate::measure::timing;
use crate::record::Budget;
use crate::record::Measured;
use crate::runtimes::tasks::Tasks;

/// The share of the tasks that runs before anything is timed, so that their memory is allocated by then.
const WARM_UP: u64 = 16;

/// One producer. The runtime says when all tasks have run; unit tests check that it is right.
pub(crate) fn single(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let tasks = budget.inside_tasks;
    runtime.spawn_from_one(tasks / WARM_UP, || ())?;
    measured.samples = timing::runs(budget, tasks, || runtime.spawn_from_one(tasks, || ()))?;
    Ok(())
}

/// As many producers as threads.
pub(crate) fn producers(
    runtime: &mut impl Tasks,
    threads: usize,
    budget: &Budget,
    measured: &mut Measured,
) -> Result<(), String> {
    let each = budget.inside_tasks / threads as u64;
    runtime.spawn_from_all(each / WARM_UP, || ())?;
    measured.samples = timing::runs(budget, each * threads as u64, || runtime.spawn_from_all(each, || ()))?;
    Ok(())
}

/// The runtime does not wait for these tasks. Each counts itself when it ends, and the case waits for the count.
pub(crate) fn outside(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let tasks = budget.outside_tasks;
    let pending = PendingTasks::of_this_thread();
    spawn_outside(runtime, pending, tasks / WARM_UP)?;
    measured.samples = timing::runs(budget, tasks, || spawn_outside(runtime, pending, tasks))?;
    Ok(())
}

fn spawn_outside(runtime: &mut impl Tasks, pending: &'static PendingTasks, tasks: u64) -> Result<(), String> {
    pending.expect(tasks);
    for _ in 0..tasks {
        runtime.spawn_outside(move || pending.count())?;
    }
    pending.wait();
    Ok(())
}
