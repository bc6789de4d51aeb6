//! The handle of a task pool, and how a thread that does not belong to a pool has something run there: it hands it over
//! and waits.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crate::adapters::task_pool::completion::Completion;
use crate::adapters::task_pool::pool_bee::{PoolBee, state_of, threads_of};
use crate::adapters::task_pool::pool_ref::PoolRef;
use crate::adapters::task_pool::resizing;
use crate::pool::shared::Shared;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::task::{Run, Task};
use crate::region::closure_size::is_large;
use crate::region::nesting::rethrow;
use crate::sys::fork::with_abort_in_child;

/// A pool of threads that run tasks. When it is dropped, the pool ends as soon as all jobs that were spawned in it, and
/// those that they spawn, have run; the drop does not wait for that.
///
/// A call that gives work to other threads of a pool that was built before a fork panics in the forked child, which has
/// none of them.
pub struct TaskPool {
    pub(super) shared: Arc<Shared>,
}

impl TaskPool {
    /// The number of the pool's threads, those among them that it does not use at present.
    pub fn threads(&self) -> usize {
        threads_of(&self.shared)
    }

    /// Into how many parts work is to be divided: as many as there are threads, unless
    /// [that is fixed](crate::adapters::task_pool::builder::PoolBuilder::fixed_parts).
    pub fn parts(&self) -> usize {
        state_of(&self.shared).rules.parts.map_or(self.threads(), |parts| parts.get() as usize)
    }

    /// Has the pool use as many of its threads as this from now on, at least one and at most all: see
    /// [`resizing`]. Returns how many that are. In a forked child, and in a pool
    /// that is being built, it has no effect before there are threads that it could concern.
    pub fn resize(&self, threads: usize) -> usize {
        resizing::resize_pool(&self.shared, threads)
    }

    /// A number that no other pool or hive of this process has.
    pub fn unique_number(&self) -> u64 {
        self.shared.team.unique_number()
    }

    /// Calls `use_it` with this pool, to spawn jobs and to begin scopes in it.
    pub fn with<R>(&self, use_it: impl FnOnce(PoolRef<'_, '_>) -> R) -> R {
        PoolBee::with(|me| use_it(PoolRef { pool: &self.shared, me }))
    }

    /// Calls `use_it` with the calling thread as a bee of this pool, or with None if it is none.
    pub fn with_bee<R>(&self, use_it: impl FnOnce(Option<PoolBee<'_>>) -> R) -> R {
        self.with(|pool| use_it(pool.bee()))
    }

    /// Runs `work` on a thread of this pool and returns its result. `work` also learns whether it has been handed over
    /// for that. If the calling thread belongs to another pool, it runs tasks of that one until `work` has ended; if it
    /// belongs to none, it polls for a moment and then sleeps.
    ///
    /// # Panics
    /// With the panic of `work`. Also in a forked child.
    pub fn enter<R: Send>(&self, work: impl FnOnce(PoolBee<'_>, bool) -> R + Send) -> R {
        if is_large(&work) {
            return self.enter(Box::new(work) as Box<dyn FnOnce(PoolBee<'_>, bool) -> R + Send + '_>);
        }
        PoolBee::with(|me| match me {
            Some(me) if me.is_of(&self.shared) => work(me, false),
            other => hand_over(&self.shared, other, work),
        })
    }
}

impl Drop for TaskPool {
    fn drop(&mut self) {
        self.shared.release_keeper();
    }
}

/// Runs `work` on some thread of the pool, and returns its result. The calling thread is no thread of that pool; if it
/// is one of another pool, `caller` says so.
///
/// # Panics
/// With the panic of `work`, or in a forked child.
#[cold]
#[inline(never)]
fn hand_over<R: Send>(
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
    // No floor: the job is in the pool's injector, so nothing of what this waits for is in the caller's own deque.
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
