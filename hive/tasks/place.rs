//! How a thread comes to be a member that runs tasks: a bee is one; anybody else takes the queen's place if it is free, or has it done by a bee.

use std::sync::Arc;

use super::{blocked, current};
use crate::colony::Colony;
use crate::crew::Hand;
use crate::frame;

/// Runs `work` as a member of the hive: on the calling thread if that can be one now; else on a bee, while the thread waits.
///
/// `work` gets None if neither may be: inside a region or a task of another hive, which may be waiting for this one, and in a forked child. It then does all of it
/// on the spot.
pub(super) fn run<R: Send>(colony: &Arc<Colony>, work: impl FnOnce(Option<&Hand<'_>>) -> R + Send) -> R {
    let crew = &colony.crew;
    current::with(crew, |hand| {
        if hand.is_some() {
            return work(hand);
        }
        if colony.is_forked() {
            return work(None);
        }
        // Member 0 of a region has the turn already.
        if frame::with_outermost(crew, |member| member.team() > 1 && member.id() == 0) == Some(true) {
            return in_queens_place(colony, |hand| work(Some(hand)));
        }
        if let Some(_turn) = crew.try_take_turn() {
            return in_queens_place(colony, |hand| work(Some(hand)));
        }
        if frame::inside_any() || current::is_anywhere() {
            return work(None);
        }
        colony.have_a_bee();
        blocked::run(|task| crew.inject(task), || current::with(crew, work))
    })
}

/// Runs `work` as member 0. The calling thread has the turn.
fn in_queens_place<R>(colony: &Colony, work: impl FnOnce(&Hand<'_>) -> R) -> R {
    /// Leaves what she has not run to the bees, however she goes.
    struct Leave<'h, 'c>(&'h Hand<'c>);
    impl Drop for Leave<'_, '_> {
        fn drop(&mut self) {
            self.0.leave_tasks();
        }
    }
    let hand = Hand::new(&colony.crew, 0);
    let _leave = Leave(&hand);
    current::within(&hand, || work(&hand))
}
