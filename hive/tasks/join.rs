//! `join`: two closures, possibly at the same time. `handle.rs` calls it on a thread that is a bee.
//!
//! The second closure is kept in the bee's join buffer, where only this bee sees it. Each join that begins looks
//! whether bees are idle. If so, it moves as many tasks from the buffer to the deque as there are idle bees, the oldest
//! first, because these are the largest in a recursion. While the buffer is full, further joins just call their
//! closures in order. So a join that nobody helps with costs little more than the two calls.
//!
//! The idea of not sharing what nobody asks for is that of lazy task creation. The crate chili has it too, with a
//! heartbeat in place of the count of idle bees.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::panics::ignore_panic;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting::drop_and_rethrow;
use crate::region::no_double_panic::NoDoublePanic;
use crate::tasks::stack_job::StackJob;

/// Runs both closures, at least one of them on the calling thread, and returns their results. If both panic, the panic
/// of `a` continues.
#[inline]
pub(crate) fn join<A, B, RA, RB>(context: &TaskContext<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // These are two functions, not one: otherwise each stack frame of a deep recursion would be as large as the
    // buffered way needs, even where the closures just run in order.
    if context.try_make_room() {
        join_buffered(context, a, b, |context| context.share_joins())
    } else {
        join_in_order(a, b)
    }
}

/// As `join`, for a thread that has only just become a bee. The second closure is shared at once, even if no bee is
/// counted as idle. Bees that have just ended something are counted a moment later, when the calling thread may have
/// nothing left to share.
pub(crate) fn join_from_outside<A, B, RA, RB>(context: &TaskContext<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    if context.try_make_room() || context.share_joins_now() {
        join_buffered(context, a, b, |context| context.share_joins_now())
    } else {
        join_in_order(a, b)
    }
}

/// Runs `a` on the calling thread while `b` is kept in the join buffer, or is shared with other bees, and then runs `b`
/// as well if nobody has begun it.
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
    // `b` lies on this stack. The task refers to it.
    let job = StackJob::new(context, b);
    // SAFETY: the job stays where it is until its task has been taken back or its latch is set. One of the two happens
    // below, also if `a` panics.
    let task = unsafe { job.task() };
    let number = context.buffer_join(task);
    // From here on other bees may run the task, so nothing may unwind this frame.
    let abort_guard = AbortOnUnwind::new("in a join");
    share(context);
    // Other bees may now be waiting for what this bee does.
    context.begin_task();
    let a = catch_unwind(AssertUnwindSafe(a));
    // Most often `b` is still in the join buffer.
    let b = if context.reclaim_join(number) { run_reclaimed(context, &job) } else { end_shared(context, &job) };
    context.end_task();
    abort_guard.disarm();
    match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), other) => drop_and_rethrow(panic, other),
        (other, Err(panic)) => drop_and_rethrow(panic, other),
    }
}

/// Runs the second closure of a join, whose task this bee has taken back.
#[inline(always)]
fn run_reclaimed<B, RB>(context: &TaskContext<'_>, job: &StackJob<B, RB>) -> thread::Result<RB>
where
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // `a` has taken its time, and `b` may as well: share older joins that are kept, if bees are idle now.
    context.share_joins();
    // SAFETY: this bee owns the job, and it has taken the task back, so nobody else runs it.
    catch_unwind(AssertUnwindSafe(unsafe { job.take_work() }))
}

/// Ends the second closure of a join, whose task has been shared: runs it if no bee has begun it, and otherwise waits
/// for its result.
#[cold]
#[inline(never)]
fn end_shared<B, RB>(context: &TaskContext<'_>, job: &StackJob<B, RB>) -> thread::Result<RB>
where
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // SAFETY: the job is where it was when the task was made. This copy of the task is not run.
    let task = unsafe { job.task() };
    // Looks for the task among all tasks, runs others meanwhile, or waits until the bee that has taken it sets the
    // latch.
    if context.reclaim_or_wait(&task, job.latch()) {
        run_reclaimed(context, job)
    } else {
        // SAFETY: this bee owns the job, and the latch is set.
        unsafe { job.take_result() }
    }
}

/// Runs the two closures one after the other. The second is run even if the first panics.
#[inline(always)]
pub(crate) fn join_in_order<A: FnOnce() -> RA, B: FnOnce() -> RB, RA, RB>(a: A, b: B) -> (RA, RB) {
    /// Holds the second closure, and runs it on drop if the first has panicked. Its own panic is then swallowed.
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
