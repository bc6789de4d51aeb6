//! What the calling thread is: which hives it runs tasks of, and as which bees. `yield_now` and `current` of the public
//! interface are here. What they look at is the thread's list of frames, in `region/nesting.rs`.

use crate::protocol::Team;
use crate::region::nesting;
use crate::tasks::{caller_queue, enter};

/// Which bee of which hive a thread is: see [`current`].
///
/// ```
/// let solver = hive::Hive::new(2)?;
/// let bees = solver.spmd_map(2, |_| hive::current().expect("in a region"));
/// assert_eq!((bees[0].id, bees[1].id), (0, 1));
/// assert_eq!(bees[0].hive, bees[1].hive);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CurrentBee {
    /// A number that no other hive of this process has, or will have.
    pub hive: u64,
    /// The bee's number, 0 for the queen.
    pub id: usize,
}

/// Which bee of which hive the calling thread is: as a worker, as the queen while the hive runs tasks, or as a bee of a
/// region; as the leader of a hive in [`HiveSet::on_each`](crate::hives::hive_set::HiveSet::on_each), where it is bee
/// 0. `None` on any other thread. If the thread is inside several hives, this is about the innermost, which is also the
/// one that the free functions of this crate act on.
///
/// The two may differ in a task whose hive has been dropped, in an exit handler, where the free functions act on the
/// global hive, and in a forked child. In a child that was forked inside of a region or of `on_each`, `current`
/// still names the parent's hive there, while the free functions act on the child's own global hive, because the child
/// has none of the parent's threads.
///
/// ```
/// assert_eq!(hive::current(), None);
/// let bee = hive::install(|| hive::current()).expect("install runs its closure as a bee");
/// assert_eq!(bee.id, 0); // nobody else was the queen
/// ```
#[doc(alias("omp_get_thread_num", "omp_in_parallel", "current_thread_index", "thread id"))]
pub fn current() -> Option<CurrentBee> {
    // A task pool is no hive to those who run tasks in it.
    let bee = |team: &Team, id| CurrentBee { hive: team.unique_number(), id: id as usize };
    nesting::with_innermost(|team, id| (!team.is_task_pool()).then(|| bee(team, id))).flatten()
}

/// Runs one task, if the calling thread is a bee of a hive that runs tasks and there is a task to run. Otherwise yields
/// the core for a moment. For tasks that wait for something by polling.
///
/// If there is no other task, the second half of a [`join`](crate::pool::handle::Hive::join) whose first half calls
/// this is one.
///
/// A thread that is inside several hives runs a task of any of them, those of the innermost first. The queen of a
/// region runs tasks of her hive as well. Before all of these come the tasks of a
/// [scope](crate::pool::handle::Hive::scope) that only the calling thread may run.
///
/// The task runs on top of what the thread is in the middle of, and if it waits in the same way, another one runs on
/// top of it. When three quarters of the thread's stack are in use, this only yields the core, and runs a task no more
/// than now and then. So what a task waits for should not be left to threads that all wait so deep: see [waiting for a
/// task](crate::guides::composition#waiting-for-a-task).
///
/// ```
/// while !hive::install(|| true) {
///     hive::yield_now();
/// }
/// ```
#[doc(alias = "taskyield")]
pub fn yield_now() {
    let ran = caller_queue::run_one()
        || nesting::try_task_contexts(|found| match found {
            Ok(context) => {
                let _mode = context.team.float_mode().enter();
                nesting::within_tasks(context, || context.run_one())
            }
            Err(team) => {
                let _mode = team.float_mode().enter();
                enter::run_as_queen(team, |context| context.run_one())
            }
        });
    if !ran {
        std::thread::yield_now();
    }
}
