//! Two closures, perhaps at once.
//!
//! The second one is kept where only this member sees it, and is shared when somebody has nothing to do: the oldest first, which is the largest in a recursion. As
//! long as enough are kept, further joins just call their closures: a join that nobody helps with costs little more than the calls. The idea of
//! not sharing what nobody asks for is that of lazy task creation; chili has it with a heartbeat in place of the counts.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::stack_job::StackJob;
use crate::crew::{Hand, go_on, quietly};

/// Runs both, at least one of them on the calling thread.
#[inline]
pub(super) fn join<A, B, RA, RB>(hand: &Hand<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    hand.share();
    // Not in one function: deep in a recursion, all that the other way needs would be in each frame.
    if hand.has_kept_enough() { in_order(a, b) } else { keeping(hand, a, b) }
}

/// Keeps the second to be shared while the first runs.
#[inline(never)]
fn keeping<A, B, RA, RB>(hand: &Hand<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(hand, b);
    // SAFETY: the job stays here, in no closure either, until it is taken back or its latch is set, both below, also when `a` panics.
    let number = hand.keep(unsafe { job.task() });
    hand.enter();
    let a = catch_unwind(AssertUnwindSafe(a));
    let b = if hand.take_back(number) {
        catch_unwind(AssertUnwindSafe(job.into_work()))
    } else {
        hand.work_until(job.latch());
        job.into_result()
    };
    hand.leave();
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
    let a = a();
    let b = second.0.take().unwrap_or_else(|| unreachable!("taken once"));
    (a, b())
}
