//! `join`: two closures, possibly at the same time. `Hive::join`, the free function `join` and, with `IN_POOL`,
//! `PoolBee::join` call it on a thread that is a bee.
//!
//! The second closure is kept in the frame of the join, where only this bee finds it, by its list of joins. As a join
//! begins, and as its first half has ended, the bee looks whether others have come to want work since the last offer.
//! If so, it moves second halves to the deque until that has one for each idle bee, the outermost first, because these
//! are the largest in a recursion (`protocol/tasks/share_joins.rs`). So a join that nobody helps with costs little more
//! than the two calls.
//!
//! The idea of not sharing what nobody asks for is that of lazy task creation. The crate chili has it too, with a
//! heartbeat in place of the demand of idle bees.

#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, thread};

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::closure_size::is_large;
use crate::region::nesting::drop_and_rethrow;
use crate::tasks::stack_job::{LinkedJob, StackJob};

/// Runs both closures, at least one of them on the calling thread, and returns their results. `b` is told whether
/// another thread runs it. If both panic, the panic of `a` continues.
///
/// `IN_POOL`: the thread belongs to a task pool, where the outermost joins of each task are visible to all bees as they
/// begin: see `protocol/tasks/pool_rules.rs`.
///
/// A thread that waits in a join runs other tasks, in which it joins and waits again, so the stack may hold hundreds of
/// joins. In a build without optimisation each function that gets the closures by value has copies of them on the
/// stack. So those of a visible join, which waits most, are passed on by reference.
#[inline]
pub(crate) fn join<const IN_POOL: bool, A, B, RA, RB>(context: &TaskContext<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    if is_large(&a) || is_large(&b) {
        return join_boxed::<IN_POOL, _, _>(context, a, b);
    }
    if IN_POOL && context.is_next_join_visible() {
        // Here and not above: closures that have an address would be written to the stack by every join.
        let (a, b) = (ManuallyDrop::new(a), ManuallyDrop::new(b));
        // SAFETY: the closures are not used again, and are forgotten.
        return unsafe { join_visible(context, &*a, &*b) };
    }
    join_linked::<false, _, _>(context, a, b)
}

/// `join` for closures that capture so much that they are not to be copied from one stack frame to the next.
#[inline(never)]
fn join_boxed<const IN_POOL: bool, RA, RB: Send>(
    context: &TaskContext<'_>,
    a: impl FnOnce() -> RA,
    b: impl FnOnce(bool) -> RB + Send,
) -> (RA, RB) {
    let a: Box<dyn FnOnce() -> RA + '_> = Box::new(a);
    join::<IN_POOL, _, _, _, _>(context, a, Box::new(b) as Box<dyn FnOnce(bool) -> RB + Send + '_>)
}

/// Runs `a` on the calling thread while `b` is in the bee's deque, and then runs `b` as well if nobody has taken it.
///
/// # Safety
/// The caller does not use the closures afterwards, nor drop them.
#[inline(never)]
unsafe fn join_visible<A, B, RA, RB>(context: &TaskContext<'_>, a: *const A, b: *const B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    // SAFETY: the caller gives `b` away. It lies on this stack; the task refers to it.
    let job = StackJob::new(unsafe { ptr::read(b) });
    // SAFETY: the job stays where it is until its task has been taken back or its latch is set. One of the two happens
    // below, also if `a` panics.
    let task = unsafe { job.make_task(context.team, context.id) };
    // From here on other bees may run the task, so nothing may unwind this frame.
    let abort_guard = AbortOnUnwind::new("in a join");
    context.push_visible_join(task);
    context.begin_task();
    // SAFETY: the caller gives `a` away.
    let a = catch_unwind(AssertUnwindSafe(|| unsafe { ptr::read(a) }()));
    // SAFETY: there is a task of the job.
    let is_reclaimed = context.reclaim_visible_join(&raw const job, unsafe { job.latch() });
    abort_guard.disarm();
    match a {
        Ok(a) if is_reclaimed => {
            // SAFETY: this bee owns the job, and it has taken the task back, so nobody else runs it.
            let b = catch_unwind(AssertUnwindSafe(|| unsafe { job.take_work() }(false)));
            context.end_task();
            match b {
                Ok(b) => (a, b),
                Err(panic) => drop_and_rethrow(panic, a),
            }
        }
        a => end_shared_or_panicked(context, &job, is_reclaimed, a),
    }
}

/// Runs `a` on the calling thread while `b` lies in this frame, where the bee finds it if it is to be shared, and then
/// runs `b` as well if nobody has begun it.
///
/// `AT_ONCE`: the thread has only just become a bee. `b` is shared at once, even if no bee is counted as idle. Bees
/// that have just ended something are counted a moment later, when the calling thread may have nothing left to share.
#[inline(always)]
pub(crate) fn join_linked<const AT_ONCE: bool, RA, RB: Send>(
    context: &TaskContext<'_>,
    a: impl FnOnce() -> RA,
    b: impl FnOnce(bool) -> RB + Send,
) -> (RA, RB) {
    let job = LinkedJob::new(b);
    // From here on the bee may share `b`, so nothing may unwind this frame.
    let abort_guard = AbortOnUnwind::new("in a join");
    // SAFETY: the job stays where it is until it is unlinked below, also if `a` panics. Joins that are linked in `a`
    // are unlinked when they end, which is before `a` ends.
    unsafe { context.begin_join(job.link(), job.kind()) };
    if AT_ONCE {
        context.share_joins_now();
    }
    let a = catch_unwind(AssertUnwindSafe(a));
    let is_unlinked = context.joins.unlink(&job.link);
    let a = match a {
        Ok(a) if is_unlinked => a,
        // Out of line, because the registers and the stack that this needs would be those of every join.
        a => {
            abort_guard.disarm();
            context.count_join(&job.link);
            return end_shared_or_panicked(context, &job.job, is_unlinked, a);
        }
    };
    // `a` has taken its time, and `b` may as well: share joins further out, if bees are idle now.
    context.share_joins();
    // SAFETY: this bee owns the job, and it has made no task of it, so nobody else runs it.
    let b = catch_unwind(AssertUnwindSafe(|| unsafe { job.job.take_work() }(false)));
    context.end_join(&job.link);
    abort_guard.disarm();
    match b {
        Ok(b) => (a, b),
        Err(panic) => drop_and_rethrow(panic, a),
    }
}

/// Ends a join in which `b` has been shared, or `a` has panicked. `is_reclaimed`: whether the task of `b` has been
/// taken back.
#[cold]
#[inline(never)]
fn end_shared_or_panicked<B: FnOnce(bool) -> RB + Send, RA, RB: Send>(
    context: &TaskContext<'_>,
    job: &StackJob<B, RB>,
    is_reclaimed: bool,
    a: thread::Result<RA>,
) -> (RA, RB) {
    // Other bees may run the task, so nothing may unwind the frame of the join, and this one is further in.
    let abort_guard = AbortOnUnwind::new("in a join");
    // If the task has been shared, look for it among the tasks, run others meanwhile, or wait until the bee that has
    // taken it sets the latch.
    // SAFETY: if the job has not been reclaimed, there was a task of it, so `make_task` has been called.
    let b = if is_reclaimed || context.reclaim_or_wait(job, unsafe { job.latch() }) {
        context.share_joins();
        // SAFETY: this bee owns the job, and it has the task, so nobody else runs it.
        catch_unwind(AssertUnwindSafe(|| unsafe { job.take_work() }(false)))
    } else {
        // SAFETY: this bee owns the job, and the latch is set.
        unsafe { job.take_result() }
    };
    context.end_task();
    abort_guard.disarm();
    both(a, b)
}

/// Runs the two closures one after the other. The second is run even if the first panics.
#[inline(always)]
pub(crate) fn join_in_order<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB) -> (RA, RB) {
    let a = catch_unwind(AssertUnwindSafe(a));
    both(a, catch_unwind(AssertUnwindSafe(b)))
}

/// The results of a join's two halves, which have ended. If both have panicked, the panic of `a` continues.
fn both<RA, RB>(a: thread::Result<RA>, b: thread::Result<RB>) -> (RA, RB) {
    match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), other) => drop_and_rethrow(panic, other),
        (other, Err(panic)) => drop_and_rethrow(panic, other),
    }
}
