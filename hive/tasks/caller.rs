//! Which hives the calling thread runs tasks of, and as which bees.

use std::ptr;

use crate::protocol::Team;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::tasks::{caller_queue, enter};

/// Runs `work` as the bee whose `context` it is.
pub(crate) fn with_context<R>(context: &TaskContext<'_>, work: impl FnOnce() -> R) -> R {
    nesting::within_tasks(context, work)
}

/// The hive and the bee that the calling thread is: as a bee, in the queen's place of a hive that runs tasks, or in a region. None elsewhere. Of a thread that is inside of
/// several, what it is inside of last.
///
/// The first number differs between any two hives that live at the same time; the second is the bee's, 0 the queen's.
///
/// ```
/// assert_eq!(hive::current(), None);
/// assert_eq!(hive::install(|| hive::current().map(|(_, bee)| bee)), Some(0));
/// ```
pub fn current() -> Option<(usize, usize)> {
    nesting::with_innermost(|team: &Team, id| (ptr::from_ref(team).addr(), id as usize))
}

/// Runs one task, if the calling thread is a bee of a hive that runs tasks and there is one; else gives up the core for a moment. For a task that waits for something by polling.
///
/// A thread that is inside of several hives runs a task of any of them, those of the innermost first. The queen of a region does so, too. Before all that come the tasks of a
/// [scope](crate::pool::handle::Hive::scope) that nobody else may run.
///
/// ```
/// while !hive::install(|| true) {
///     hive::yield_now();
/// }
/// ```
pub fn yield_now() {
    let ran = caller_queue::run_one()
        || nesting::try_task_contexts(|found| match found {
            Ok(context) => with_context(context, || context.run_one()),
            Err(team) => enter::run_as_queen(team, |context| context.run_one()),
        });
    if !ran {
        std::thread::yield_now();
    }
}
