//! Two closures, perhaps at once.
//!
//! The second one is kept where only this bee sees it. Each join that begins looks whether somebody has nothing to do, and then shares as many of those kept as there
//! are such bees: the oldest first, which are the largest in a recursion. As long as enough are kept, further joins just call their closures: a join that nobody helps
//! with costs little more than the calls. The idea of not sharing what nobody asks for is that of lazy task creation; chili has it with a heartbeat in place of the counts.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::panics::{drop_and_rethrow, ignore_panic};
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::no_double_panic::NoDoublePanic;
use crate::tasks::stack_job::StackJob;

/// Runs both, at least one of them on the calling thread.
#[inline]
pub(crate) fn join<A, B, RA, RB>(context: &TaskContext<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // Not in one function: deep in a recursion, all that the other way needs would be in each frame.
    if context.make_room() {
        join_buffered(context, a, b, |context| context.share_joins())
    } else {
        join_in_order(a, b)
    }
}

/// The same for a thread that has only just become a bee. Bees that have just ended something count among the idle a moment later, when nothing may be left but to
/// wait for the first closure: so the second is there for them at once.
pub(crate) fn join_from_outside<A, B, RA, RB>(context: &TaskContext<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    if context.make_room() || context.share_joins_now() {
        join_buffered(context, a, b, |context| context.share_joins_now())
    } else {
        join_in_order(a, b)
    }
}

/// Keeps the second, or shares it, while the first runs.
#[inline(never)]
fn join_buffered<A, B, RA, RB>(
    context: &TaskContext<'_>,
    a: A,
    b: B,
    share: impl FnOnce(&TaskContext<'_>) -> bool,
) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(context, b);
    // SAFETY: the job stays here, in no closure either, until it is taken back or its latch is set, both below, also when `a` panics.
    let task = unsafe { job.task() };
    let number = context.buffer_join(task);
    // From here on others may have it.
    let abort_guard = AbortOnUnwind::new("in a join");
    share(context);
    context.begin_task();
    let a = catch_unwind(AssertUnwindSafe(a));
    let b = if context.reclaim_join(number) || context.reclaim_or_wait(&task, job.latch()) {
        // The first has taken its time, and so may the second.
        context.share_joins();
        catch_unwind(AssertUnwindSafe(job.into_work()))
    } else {
        job.into_result()
    };
    context.end_task();
    abort_guard.disarm();
    match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), other) => drop_and_rethrow(panic, other),
        (other, Err(panic)) => drop_and_rethrow(panic, other),
    }
}

/// Runs one after the other; the second even if the first panics.
#[inline(always)]
pub(crate) fn join_in_order<A: FnOnce() -> RA, B: FnOnce() -> RB, RA, RB>(a: A, b: B) -> (RA, RB) {
    /// Runs the second closure when the first unwinds.
    struct Second<B: FnOnce() -> RB, RB>(Option<B>);
    impl<B: FnOnce() -> RB, RB> Drop for Second<B, RB> {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(b) = self.0.take() {
                ignore_panic(|| drop(b()));
            }
        }
    }
    let mut second = Second(Some(b));
    let a = NoDoublePanic::new(a());
    let b = second.0.take().unwrap_or_else(|| unreachable!("taken once"));
    let b = b();
    (a.into_inner(), b)
}
