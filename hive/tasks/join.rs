//! Two closures, perhaps at once.
//!
//! The second one is kept where only this member sees it. Each join that begins looks whether somebody has nothing to do, and then shares as many of those kept as there
//! are such members: the oldest first, which are the largest in a recursion. As long as enough are kept, further joins just call their closures: a join that nobody helps
//! with costs little more than the calls. The idea of not sharing what nobody asks for is that of lazy task creation; chili has it with a heartbeat in place of the counts.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::stack_job::StackJob;
use crate::crew::{AbortOnUnwind, Hand, go_on, quietly};
use crate::quiet::Quiet;

/// Runs both, at least one of them on the calling thread.
#[inline]
pub(super) fn join<A, B, RA, RB>(hand: &Hand<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // Not in one function: deep in a recursion, all that the other way needs would be in each frame.
    if hand.has_room() { keeping(hand, a, b, |hand| hand.share()) } else { in_order(a, b) }
}

/// The same for a thread that has only just become a member. Bees that have just ended something count among the idle a moment later, when nothing may be left but to
/// wait for the first closure: so the second is there for them at once.
pub(super) fn join_from_outside<A, B, RA, RB>(hand: &Hand<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    if hand.has_room() || hand.share_at_once() { keeping(hand, a, b, |hand| hand.share_at_once()) } else { in_order(a, b) }
}

/// Keeps the second, or shares it, while the first runs.
#[inline(never)]
fn keeping<A, B, RA, RB>(hand: &Hand<'_>, a: A, b: B, share: impl FnOnce(&Hand<'_>) -> bool) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(hand, b);
    // SAFETY: the job stays here, in no closure either, until it is taken back or its latch is set, both below, also when `a` panics.
    let task = unsafe { job.task() };
    let number = hand.keep(task);
    // From here on others may have it.
    let intact = AbortOnUnwind::new("in a join");
    share(hand);
    hand.enter();
    let a = catch_unwind(AssertUnwindSafe(a));
    let b = if hand.take_back(number) || hand.take_back_or_work(&task, job.latch()) {
        // The first has taken its time, and so may the second.
        hand.share();
        catch_unwind(AssertUnwindSafe(job.into_work()))
    } else {
        job.into_result()
    };
    hand.leave();
    intact.disarm();
    match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), other) => go_on(panic, other),
        (other, Err(panic)) => go_on(panic, other),
    }
}

/// Runs one after the other; the second even if the first panics.
#[inline(always)]
pub(super) fn in_order<A: FnOnce() -> RA, B: FnOnce() -> RB, RA, RB>(a: A, b: B) -> (RA, RB) {
    /// Runs the second closure when the first unwinds.
    struct Second<B: FnOnce() -> RB, RB>(Option<B>);
    impl<B: FnOnce() -> RB, RB> Drop for Second<B, RB> {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(b) = self.0.take() {
                quietly(|| drop(b()));
            }
        }
    }
    let mut second = Second(Some(b));
    let a = Quiet::new(a());
    let b = second.0.take().unwrap_or_else(|| unreachable!("taken once"));
    let b = b();
    (a.into_inner(), b)
}
