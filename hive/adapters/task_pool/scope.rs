//! Scopes of task pools: jobs that may borrow from outside of the scope, which returns when all of them have ended.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::Arc;

use crate::adapters::task_pool::completion::Completion;
use crate::adapters::task_pool::pool_bee::{PoolBee, on_calling_bee};
use crate::adapters::task_pool::pool_ref::PoolRef;
use crate::pool::shared::Shared;
use crate::protocol::tasks::fifo::Fifo;
use crate::protocol::tasks::held_credit::CountedScope;
use crate::protocol::tasks::scope_count::ScopeCount;
use crate::protocol::tasks::task::Task;
use crate::region::closure_size::boxed_if_large;
use crate::tasks::scope_job::{FirstPanic, ScopeWithJobs, run_scope, task_of_scope};

/// A scope of a pool. Any thread may spawn jobs in it, from the scope's body, from its jobs, or from threads of their
/// own.
pub struct PoolScope<'scope> {
    /// The pool, which the caller of the scope, or a thread of the pool that runs its jobs, keeps alive.
    pool: *const Shared,
    /// How many jobs have not ended, the body among them, and the credits of the bees that run them.
    pending: ScopeCount,
    /// Set by what ends last.
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
    /// Spawns a job. The jobs that one thread spawns are begun in the reverse order, as far as that thread runs them,
    /// and in order in a pool that is breadth-first.
    pub fn spawn(&self, job: impl FnOnce(&Self) + Send + 'scope) {
        self.queue(&[], self.prepare(job));
    }

    /// Spawns a job that is begun after those that the calling thread has spawned this way before.
    ///
    /// # Panics
    /// In a scope that was not begun by a function for such jobs.
    pub fn spawn_fifo(&self, job: impl FnOnce(&Self) + Send + 'scope) {
        assert!(!self.fifos.is_empty(), "spawn_fifo in a scope that has no queues for it");
        self.queue(&self.fifos, self.prepare(job));
    }

    /// Counts and queues a task of a job, by way of the calling bee's queue among `fifos`, which are none or the
    /// scope's.
    fn queue(&self, fifos: &[Fifo], task: Task) {
        self.with_pool(|pool| {
            self.count_job(pool);
            // SAFETY: the queues belong to the scope, which waits for the job, and the job is in the queue until the
            // proxy has found it.
            unsafe { pool.push(fifos, task) };
        });
    }

    /// Spawns a job that each thread of the pool runs once.
    pub fn spawn_broadcast(&self, job: impl Fn(&Self, PoolBee<'_>) + Send + Sync + 'scope) {
        // Before the lock, which nobody would release there.
        self.pool().assert_not_forked();
        let job = Arc::new(job);
        let send = |bee| {
            let job = Arc::clone(&job);
            self.spawn_on(bee, move |scope, me| job(scope, me));
        };
        self.with_pool(|pool| pool.send_to_each(send));
    }

    /// Spawns a job that bee `bee` of the pool runs. In a pool that has ended any other may: that one may be gone.
    pub(super) fn spawn_on(&self, bee: u32, job: impl FnOnce(&Self, PoolBee<'_>) + Send + 'scope) {
        let on_bee = move |scope: &Self| on_calling_bee(|me| job(scope, me));
        let task = self.prepare(on_bee);
        self.with_pool(|pool| self.count_job(pool));
        self.pool().team.inject_to_bee_or_any(bee, task);
    }

    /// A number that no other pool or hive of this process has.
    pub fn pool_number(&self) -> u64 {
        self.pool().team.unique_number()
    }

    fn pool(&self) -> &Shared {
        // SAFETY: the pool lives as long as the scope: see the field.
        unsafe { &*self.pool }
    }

    /// Calls `use_it` with the scope's pool as the calling thread sees it.
    #[inline(always)]
    fn with_pool(&self, use_it: impl FnOnce(PoolRef<'_, '_>)) {
        PoolBee::with(|me| use_it(PoolRef { pool: self.pool(), me }));
    }

    /// Counts a job that is about to be queued by the calling thread, which sees the scope's pool as `pool`.
    #[inline(always)]
    fn count_job(&self, pool: PoolRef<'_, '_>) {
        match pool.bee() {
            Some(me) => me.context.held_credit.add(self),
            None => self.pending.add_from_another_thread(),
        }
    }

    /// Makes a task that runs `job` in this scope. The caller has to count it before it queues it (`count_job`).
    ///
    /// # Panics
    /// In a forked child: nobody would run it there.
    #[inline]
    fn prepare(&self, job: impl FnOnce(&Self) + Send + 'scope) -> Task {
        self.pool().assert_not_forked();
        // SAFETY: what the job borrows outlives `'scope`, and so the scope, which waits for what is counted.
        boxed_if_large!(job: dyn FnOnce(&Self) + Send + 'scope => unsafe { task_of_scope(self, job) })
    }
}

// SAFETY: `PoolRef::scope_with`, in whose frame the scope lies, waits until nothing is counted.
unsafe impl CountedScope for PoolScope<'_> {
    fn count(&self) -> &ScopeCount {
        &self.pending
    }

    unsafe fn set_ended(this: *const Self) {
        // SAFETY: the scope waits for its completion, and lives until that is set.
        let completion = unsafe { &raw const (*this).completion };
        // SAFETY: as above.
        unsafe { Completion::set(completion) };
    }
}

impl ScopeWithJobs for PoolScope<'_> {
    fn panic(&self) -> &FirstPanic {
        &self.panic
    }
}

impl PoolRef<'_, '_> {
    /// Runs `body` on the calling thread, and returns when all jobs that were spawned in the scope have ended, which
    /// the threads of the pool run.
    ///
    /// # Panics
    /// With the panic of `body`, or else with the first of a job, after all have ended. Also in a forked child.
    pub fn scope<'scope, R>(self, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        self.scope_with(0, body)
    }

    /// As [`scope`](Self::scope), for jobs that are to be spawned by [`spawn_fifo`](PoolScope::spawn_fifo).
    pub fn scope_fifo<'scope, R>(self, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        self.scope_with(self.pool.config.bees, body)
    }

    /// A scope with so many queues for jobs that are run in order.
    #[inline]
    fn scope_with<'scope, R>(self, fifos: u32, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        let Self { pool, me } = self;
        pool.assert_not_forked();
        let scope = PoolScope {
            pool,
            pending: ScopeCount::of_body(),
            completion: Completion::new(pool, me),
            panic: FirstPanic::default(),
            fifos: (0..fifos).map(|_| Fifo::default()).collect(),
            jobs: PhantomData,
        };
        let context = self.bee().map(|it| it.context);
        let floor = context.map_or(usize::MAX, |it| it.deque_floor());
        let held = context.map(|it| &it.held_credit);
        run_scope(&scope, held, body, |scope| scope.completion.wait(pool, me, floor))
    }
}
