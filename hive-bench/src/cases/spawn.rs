//! Spawns: many empty tasks, until all have run.

use crate::cases::landing::Landing;
use crate::measure::timing;
use crate::record::Budget;
use crate::record::Measured;
use crate::runtimes::tasks::Tasks;

/// The share of the tasks that runs before anything is timed, so that their memory is allocated by then.
const WARM_UP: u64 = 16;

/// One producer. The runtime says when all tasks have run; unit tests check that it is right.
pub(crate) fn flood(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let tasks = budget.flood_tasks;
    runtime.flood(tasks / WARM_UP, || ())?;
    measured.samples = timing::runs(budget, tasks, || runtime.flood(tasks, || ()))?;
    Ok(())
}

/// As many producers as members.
pub(crate) fn producers(
    runtime: &mut impl Tasks,
    members: usize,
    budget: &Budget,
    measured: &mut Measured,
) -> Result<(), String> {
    let each = budget.flood_tasks / members as u64;
    runtime.floods(each / WARM_UP, || ())?;
    measured.samples = timing::runs(budget, each * members as u64, || runtime.floods(each, || ()))?;
    Ok(())
}

/// The runtime does not wait for these tasks. Each counts itself when it ends, and the case waits for the count.
pub(crate) fn outside(runtime: &mut impl Tasks, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    let tasks = budget.posted_tasks;
    let landing = Landing::of_this_thread();
    post(runtime, landing, tasks / WARM_UP)?;
    measured.samples = timing::runs(budget, tasks, || post(runtime, landing, tasks))?;
    Ok(())
}

fn post(runtime: &mut impl Tasks, landing: &'static Landing, tasks: u64) -> Result<(), String> {
    landing.expect(tasks);
    for _ in 0..tasks {
        runtime.post(move || landing.count())?;
    }
    landing.wait();
    Ok(())
}
