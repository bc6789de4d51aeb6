//! How a thread comes to be a member that runs tasks: a bee is one; anybody else takes the queen's place if it is free, or has it done by a bee.

use std::sync::Arc;

use super::{blocked, current};
use crate::colony::Colony;
use crate::crew::{Crew, Hand, Turned};
use crate::frame;
use crate::quiet::Quiet;
use crate::trace::Event;

/// Runs `work` as a member of the hive: on the calling thread if that can be one now; else on a bee, while the thread waits.
///
/// `work` gets None if neither may be: inside a region or a task of another hive, which may be waiting for this one, and in a forked child. It then does all of it
/// on the spot.
pub(super) fn run<R: Send>(colony: &Arc<Colony>, work: impl FnOnce(Option<&Hand<'_>>) -> R + Send) -> R {
    let crew = &colony.crew;
    frame::with_hand(crew, |hand| {
        if let Some(hand) = hand {
            // It may be far out, with other hives further in. Inside `work` this hive is the innermost.
            return current::within(hand, || work(Some(hand)));
        }
        if colony.is_forked() {
            return work(None);
        }
        // Member 0 of a region has the turn already.
        if frame::with_outermost(crew, |member| member.team() > 1 && member.id() == 0) == Some(true) {
            return in_queens_place(crew, |hand| work(Some(hand)));
        }
        if let Some(turn) = crew.try_take_turn() {
            return at_work(&Hand::of_queen(crew, turn), |hand| {
                let _marked = colony.waits.mark();
                work(Some(hand))
            });
        }
        if frame::is_inside_any() {
            return work(None);
        }
        let work = Quiet::new(work);
        colony.have_a_bee();
        blocked::run(|task| crew.inject(task), || frame::with_innermost_hand(crew, work.into_inner()))
    })
}

/// Calls `use_it` with the turn of `crew`, for a thread that is inside a region or runs tasks: its own, if it is in the queen's place and nobody may be waiting for what it is doing;
/// else the turn if nobody has it. It does not wait, because the one who has the turn may be waiting for this thread.
pub(crate) fn with_turn<R>(crew: &Crew, use_it: impl FnOnce(Option<&mut Turned<'_>>) -> R) -> R {
    frame::with_hand(crew, |hand| match hand {
        Some(hand) => hand.lend_turn(use_it),
        None => use_it(crew.try_take_turn().as_mut()),
    })
}

/// Runs `work` as member 0 of `crew`. The calling thread is the queen of its region, and has no hand yet.
pub(super) fn in_queens_place<R>(crew: &Crew, work: impl FnOnce(&Hand<'_>) -> R) -> R {
    at_work(&Hand::new(crew, 0), work)
}

/// Runs `work` as the member whose hand it is: 0. The calling thread has the turn.
fn at_work<R>(hand: &Hand<'_>, work: impl FnOnce(&Hand<'_>) -> R) -> R {
    /// Leaves what she has not run to the bees, however she goes.
    struct Leave<'h, 'c>(&'h Hand<'c>);
    impl Drop for Leave<'_, '_> {
        fn drop(&mut self) {
            // A forked child leaves them to nobody.
            if !self.0.crew().policy().is_forked() {
                self.0.leave_tasks();
            }
            self.0.crew().log(0, || Event::Gone);
        }
    }
    hand.crew().log(0, || Event::Place);
    let _leave = Leave(hand);
    current::within(hand, || work(hand))
}
