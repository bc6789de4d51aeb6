//! How a thread that does not belong to a pool has something run there: it hands it over and waits.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::adapters::task_pool::completion::Completion;
use crate::adapters::task_pool::pool_bee::PoolBee;
use crate::pool::shared::Shared;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::task::{Run, Task};
use crate::region::nesting::rethrow;
use crate::sys::fork::with_abort_in_child;

/// Runs `work` on some thread of the pool, and returns its result. The calling thread is no thread of that pool; if it
/// is one of another pool, `caller` says so.
///
/// # Panics
/// With the panic of `work`, or in a forked child.
#[cold]
#[inline(never)]
pub(super) fn hand_over<R: Send>(
    pool: &Shared,
    caller: Option<PoolBee<'_>>,
    work: impl FnOnce(PoolBee<'_>, bool) -> R + Send,
) -> R {
    pool.assert_not_forked();
    let job = HandedOver {
        work: UnsafeCell::new(Some(work)),
        result: UnsafeCell::new(None),
        completion: Completion::new(pool, caller),
    };
    let abort_guard = AbortOnUnwind::new("in a thread that waits for a pool");
    // SAFETY: the job stays here until it has been run, which is waited for below, and its closure and result are
    // `Send`. Nothing unwinds before that, because of the guard.
    pool.team.inject(unsafe { Task::new(&raw const job) });
    // What the job waits for here, it has put into no deque of its own.
    job.completion.wait(pool, caller, usize::MAX);
    abort_guard.disarm();
    match job.result.into_inner() {
        Some(Ok(result)) => result,
        Some(Err(panic)) => rethrow(panic),
        None => unreachable!("it has ended"),
    }
}

/// A closure that lies on the stack of the thread that waits for it.
struct HandedOver<F, R> {
    work: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<thread::Result<R>>>,
    completion: Completion,
}

impl<R, F: FnOnce(PoolBee<'_>, bool) -> R> Run for HandedOver<F, R> {
    unsafe fn run(this: *const Self) {
        // SAFETY: the waiting thread keeps the job in its place until the completion is set, below.
        let job = unsafe { &*this };
        // SAFETY: only the thread that runs the task touches this.
        let work = unsafe { &mut *job.work.get() }.take();
        let result = catch_unwind(AssertUnwindSafe(|| {
            PoolBee::with(|me| {
                let (Some(me), Some(work)) = (me, work) else { unreachable!("run once, by a thread of the pool") };
                with_abort_in_child(|| work(me, true))
            })
        }));
        // SAFETY: the waiting thread does not touch this before the completion is set.
        unsafe { *job.result.get() = Some(result) };
        let completion = &raw const job.completion;
        // SAFETY: it has not been set yet, and the job is not touched afterwards.
        unsafe { Completion::set(completion) };
    }
}
