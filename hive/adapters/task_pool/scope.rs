//! Scopes of task pools: jobs that may borrow from outside of the scope, which returns when all of them have ended.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, ptr};

use crate::adapters::task_pool::completion::Completion;
use crate::adapters::task_pool::pool_bee::{PoolBee, on_calling_bee};
use crate::adapters::task_pool::queues;
use crate::adapters::task_pool::shared::{bees_of, threads_of};
use crate::pool::shared::Shared;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::fifo::Fifo;
use crate::protocol::tasks::task::Task;
use crate::region::closure_size::is_large;
use crate::region::nesting::drop_and_rethrow;
use crate::tasks::first_panic::FirstPanic;
use crate::tasks::heap_job::HeapJob;
use crate::tasks::send_ptr::SendPtr;

/// A scope of a pool. Any thread may spawn jobs in it, from the scope's body, from its jobs, or from threads of their
/// own.
pub struct PoolScope<'scope> {
    /// The pool, which the caller of the scope, or a thread of the pool that runs its jobs, keeps alive.
    pool: *const Shared,
    /// How many jobs have not ended, the body among them.
    pending: AtomicUsize,
    /// Set by what ends last, unless that is the body.
    completion: Completion,
    /// The first panic of a job.
    panic: FirstPanic,
    /// For each bee the jobs that it has spawned to be run in order. Empty in a scope that has none of these.
    fifos: Box<[Fifo]>,
    /// Makes `'scope` invariant, and jobs that are kept here would be sent to other threads.
    #[expect(clippy::type_complexity, reason = "a marker")]
    jobs: PhantomData<Box<dyn FnOnce(&PoolScope<'scope>) + Send + Sync + 'scope>>,
}

// SAFETY: everything that changes is atomic or locked, and a pool is used by many threads.
unsafe impl Send for PoolScope<'_> {}
// SAFETY: as above.
unsafe impl Sync for PoolScope<'_> {}

impl<'scope> PoolScope<'scope> {
    /// Runs `body` on the calling thread, and waits for the jobs, which `pool` runs. If the calling thread belongs to a
    /// pool, `caller` says so.
    #[inline]
    pub(super) fn run_in<R>(
        pool: &Shared,
        caller: Option<PoolBee<'_>>,
        has_fifos: bool,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        pool.assert_not_forked();
        let fifos = if has_fifos { pool.config.bees } else { 0 };
        let scope = Self {
            pool,
            pending: AtomicUsize::new(1),
            completion: Completion::new(pool, caller),
            panic: FirstPanic::default(),
            fifos: (0..fifos).map(|_| Fifo::new()).collect(),
            jobs: PhantomData,
        };
        let abort_guard = AbortOnUnwind::new("in a scope");
        let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        // AcqRel: pairs with itself in `end_job`: what the jobs have done has happened.
        if scope.pending.fetch_sub(1, Ordering::AcqRel) > 1 {
            scope.completion.wait(pool, caller);
        }
        abort_guard.disarm();
        match (result, scope.panic.into_inner()) {
            (Ok(result), None) => result,
            (Err(panic), other) => drop_and_rethrow(panic, other),
            (result, Some(panic)) => drop_and_rethrow(panic, result),
        }
    }

    /// Spawns a job. The jobs that one thread spawns are begun in the reverse order, as far as that thread runs them.
    pub fn spawn(&self, job: impl FnOnce(&Self) + Send + 'scope) {
        let task = self.prepare(job);
        queues::push_or_inject(self.pool(), task);
    }

    /// Spawns a job that is begun after those that the calling thread has spawned this way before.
    ///
    /// # Panics
    /// In a scope that was not begun by a function for such jobs.
    pub fn spawn_fifo(&self, job: impl FnOnce(&Self) + Send + 'scope) {
        assert!(!self.fifos.is_empty(), "spawn_fifo in a scope that has no queues for it");
        let task = self.prepare(job);
        PoolBee::with(|me| match me.filter(|me| me.is_of(self.pool())) {
            Some(me) => {
                let context = me.context();
                // SAFETY: the queue belongs to the scope, which waits for the job, and the job is in the queue until
                // the proxy has found it.
                context.push(unsafe { self.fifos[context.id() as usize].push(task) });
            }
            None => self.pool().team.inject(task),
        });
    }

    /// Spawns a job that each thread of the pool runs once.
    pub fn spawn_broadcast(&self, job: impl Fn(&Self, PoolBee<'_>) + Send + Sync + 'scope) {
        let pool = self.pool();
        let job = Arc::new(job);
        for bee in bees_of(pool) {
            let job = Arc::clone(&job);
            self.spawn_on(bee, move |scope, me| job(scope, me));
        }
    }

    /// Spawns a job that bee `bee` of the pool runs, or any other that is left in a pool that has ended.
    pub(super) fn spawn_on(&self, bee: u32, job: impl FnOnce(&Self, PoolBee<'_>) + Send + 'scope) {
        let on_bee = move |scope: &Self| on_calling_bee(|me| job(scope, me));
        queues::send_to(self.pool(), bee, self.prepare(on_bee));
    }

    /// The number of threads of the scope's pool.
    pub fn threads(&self) -> usize {
        threads_of(self.pool())
    }

    fn pool(&self) -> &Shared {
        // SAFETY: the pool lives as long as the scope: see the field.
        unsafe { &*self.pool }
    }

    /// Makes a task that runs `job` in this scope, and counts it.
    ///
    /// # Panics
    /// In a forked child: nobody would run it there.
    #[inline]
    fn prepare(&self, job: impl FnOnce(&Self) + Send + 'scope) -> Task {
        self.pool().assert_not_forked();
        if is_large(&job) {
            self.prepare_small(Box::new(job) as Box<dyn FnOnce(&Self) + Send + 'scope>)
        } else {
            self.prepare_small(job)
        }
    }

    fn prepare_small(&self, job: impl FnOnce(&Self) + Send + 'scope) -> Task {
        // Relaxed: a count. The job is handed over by its queue.
        self.pending.fetch_add(1, Ordering::Relaxed);
        let scope = SendPtr(ptr::from_ref(self));
        // SAFETY: the scope lives until this job has ended, because the job is counted and the scope waits for it.
        let work = move || unsafe { scope.get() }.run_job(job);
        // SAFETY: the job is counted, has ended when this runs, and nothing of it is left.
        let end = move |()| unsafe { Self::end_job(scope.raw()) };
        // SAFETY: what the job borrows outlives `'scope`, and so the scope, which waits for the job. `run_job` catches
        // its panic.
        unsafe { HeapJob::<_, _, true>::task(work, end) }
    }

    fn run_job(&self, job: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(self))) {
            self.panic.record(panic);
        }
    }

    /// Counts a job as ended, and ends the wait for the scope if nothing else is counted.
    ///
    /// # Safety
    /// The job is counted, has ended, and is counted as ended once. The scope may be gone when this returns.
    unsafe fn end_job(this: *const Self) {
        // SAFETY: what is counted keeps the scope.
        let completion = unsafe { &raw const (*this).completion };
        // SAFETY: as above, until the subtraction.
        let pending = unsafe { &(*this).pending };
        // AcqRel: pairs with itself in the other jobs and in `run_in`: the one that ends last has seen what all others
        // did, and hands that on.
        if pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last, so the scope waits for its completion, and lives until that is set.
            unsafe { Completion::set(completion) };
        }
    }
}

impl PoolBee<'_> {
    /// Runs `body`, and then returns when all jobs that were spawned in the scope have ended.
    ///
    /// # Panics
    /// With the first panic of `body` or a job, after all have ended.
    pub fn scope<'scope, R>(&self, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        PoolScope::run_in(self.shared(), Some(*self), false, body)
    }

    /// As [`scope`](Self::scope), for jobs that are to be spawned by [`spawn_fifo`](PoolScope::spawn_fifo).
    pub fn scope_fifo<'scope, R>(&self, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        PoolScope::run_in(self.shared(), Some(*self), true, body)
    }
}

impl fmt::Debug for PoolScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: for people.
        let pending = self.pending.load(Ordering::Relaxed);
        f.debug_struct("PoolScope")
            .field("pool_number", &self.pool().team.unique_number())
            .field("pending", &pending)
            .finish_non_exhaustive()
    }
}
