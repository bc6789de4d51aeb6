//! Spawns: many empty tasks, until all have run.

use crate::cases::landing::Landing;
use crate::effort::Effort;
use crate::results::Measured;
use crate::runtimes::tasks::Tasks;
use crate::timing;

/// Before anything is timed, a share of the tasks: that the memory for them has been asked for.
const WARM_UP: u64 = 16;

/// One producer. That all have run is the runtime's word; that its word is good is a unit test's.
pub(crate) fn flood(runtime: &mut impl Tasks, effort: &Effort, measured: &mut Measured) -> Result<(), String> {
    let tasks = effort.flood_tasks;
    runtime.flood(tasks / WARM_UP, || ())?;
    measured.samples = timing::runs(effort, tasks, || runtime.flood(tasks, || ()))?;
    Ok(())
}

/// As many producers as bees.
pub(crate) fn producers(
    runtime: &mut impl Tasks,
    members: usize,
    effort: &Effort,
    measured: &mut Measured,
) -> Result<(), String> {
    let each = effort.flood_tasks / members as u64;
    runtime.floods(each / WARM_UP, || ())?;
    measured.samples = timing::runs(effort, each * members as u64, || runtime.floods(each, || ()))?;
    Ok(())
}

/// Nobody waits for these tasks but the case: each counts itself when it ends.
pub(crate) fn outside(runtime: &mut impl Tasks, effort: &Effort, measured: &mut Measured) -> Result<(), String> {
    let tasks = effort.posted_tasks;
    let landing = Landing::of_this_thread();
    post(runtime, landing, tasks / WARM_UP)?;
    measured.samples = timing::runs(effort, tasks, || post(runtime, landing, tasks))?;
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
