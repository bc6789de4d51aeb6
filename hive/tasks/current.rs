//! Which hives the calling thread runs tasks of, and as which members.

use std::ptr;

use super::{on_the_spot, place};
use crate::crew::{Crew, Hand};
use crate::frame;

/// Runs `work` as the member whose `hand` it is.
pub(crate) fn within<R>(hand: &Hand<'_>, work: impl FnOnce() -> R) -> R {
    frame::at_tasks(hand, work)
}

/// The hive and the member that the calling thread is: as a bee, in the queen's place of a hive that runs tasks, or in a region. None elsewhere. Of a thread that is inside of
/// several, what it is inside of last.
///
/// The first number differs between any two hives that live at the same time; the second is the member's, 0 the queen's.
///
/// ```
/// assert_eq!(hive::current(), None);
/// assert_eq!(hive::install(|| hive::current().map(|(_, member)| member)), Some(0));
/// ```
pub fn current() -> Option<(usize, usize)> {
    frame::innermost(|crew: &Crew, id| (ptr::from_ref(crew).addr(), id as usize))
}

/// Runs one task, if the calling thread is a member of a hive that runs tasks and there is one; else gives up the core for a moment. For a task that waits for something by polling.
///
/// A thread that is inside of several hives runs a task of any of them, those of the innermost first. The queen of a region does so, too. Before all that come the tasks of a
/// [scope](crate::Hive::scope) that nobody else may run.
///
/// ```
/// while !hive::install(|| true) {
///     hive::yield_now();
/// }
/// ```
pub fn yield_now() {
    let ran = on_the_spot::run_one()
        || frame::any_at_tasks(|place| match place {
            Ok(hand) => within(hand, || hand.run_one()),
            Err(crew) => place::in_queens_place(crew, |hand| hand.run_one()),
        });
    if !ran {
        std::thread::yield_now();
    }
}
