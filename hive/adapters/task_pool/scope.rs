//! Scopes of task pools: jobs that may borrow from outside of the scope, which returns when all of them have ended.

#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::adapters::task_pool::completion::Completion;
use crate::adapters::task_pool::pool_bee::{PoolBee, on_calling_bee};
use crate::adapters::task_pool::queues;
use crate::adapters::task_pool::shared::{bees_of, threads_of};
use crate::pool::shared::Shared;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::fifo::Fifo;
use crate::protocol::tasks::held_credit::CountedScope;
use crate::protocol::tasks::scope_count::ScopeCount;
use crate::protocol::tasks::task::Task;
use crate::region::closure_size::is_large;
use crate::region::nesting::drop_and_rethrow;
use crate::tasks::first_panic::FirstPanic;
use crate::tasks::scope_job::{ScopeWithJobs, end_at_once, task_of_scope};

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
            pending: ScopeCount::of_body(),
            completion: Completion::new(pool, caller),
            panic: FirstPanic::default(),
            fifos: (0..fifos).map(|_| Fifo::new()).collect(),
            jobs: PhantomData,
        };
        let abort_guard = AbortOnUnwind::new("in a scope");
        let context = caller.filter(|caller| caller.is_of(pool)).map(|it| it.context());
        let (held_credit, floor) =
            (context.map(|it| &it.held_credit), context.map_or(usize::MAX, |it| it.deque_floor()));
        if let Some(held) = held_credit {
            // SAFETY: the body is run next, and ended below.
            unsafe { held.turn_to(&scope) };
        }
        let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        match held_credit {
            // SAFETY: the body is counted, and has ended.
            Some(held) => unsafe { held.end(&raw const scope) },
            // SAFETY: as above.
            None => unsafe { end_at_once(&raw const scope) },
        }
        scope.completion.wait(pool, caller, floor);
        abort_guard.disarm();
        match (result, scope.panic.into_inner()) {
            (Ok(result), None) => result,
            (Err(panic), other) => drop_and_rethrow(panic, other),
            (result, Some(panic)) => drop_and_rethrow(panic, result),
        }
    }

    /// Spawns a job. The jobs that one thread spawns are begun in the reverse order, as far as that thread runs them,
    /// and in order in a pool that is breadth-first.
    pub fn spawn(&self, job: impl FnOnce(&Self) + Send + 'scope) {
        let task = self.prepare(job);
        self.with_calling_bee(|me| {
            self.count_job(me);
            match me {
                Some(me) => me.context().push_spawned(task),
                None => self.pool().team.inject(task),
            }
        });
    }

    /// Spawns a job that is begun after those that the calling thread has spawned this way before.
    ///
    /// # Panics
    /// In a scope that was not begun by a function for such jobs.
    pub fn spawn_fifo(&self, job: impl FnOnce(&Self) + Send + 'scope) {
        assert!(!self.fifos.is_empty(), "spawn_fifo in a scope that has no queues for it");
        let task = self.prepare(job);
        self.with_calling_bee(|me| {
            self.count_job(me);
            match me {
                Some(me) => {
                    let context = me.context();
                    // SAFETY: the queue belongs to the scope, which waits for the job, and the job is in the queue
                    // until the proxy has found it.
                    context.push_spawned(unsafe { self.fifos[context.id() as usize].push(task) });
                }
                None => self.pool().team.inject(task),
            }
        });
    }

    /// Spawns a job that each thread of the pool runs once.
    pub fn spawn_broadcast(&self, job: impl Fn(&Self, PoolBee<'_>) + Send + Sync + 'scope) {
        let pool = self.pool();
        // Before the lock, which nobody would release there.
        pool.assert_not_forked();
        let job = Arc::new(job);
        queues::queue_own_joins(pool);
        pool.team.send_in_one_order(|| {
            for bee in bees_of(pool) {
                let job = Arc::clone(&job);
                self.spawn_on(bee, move |scope, me| job(scope, me));
            }
        });
    }

    /// Spawns a job that bee `bee` of the pool runs, or any other that is left in a pool that has ended.
    pub(super) fn spawn_on(&self, bee: u32, job: impl FnOnce(&Self, PoolBee<'_>) + Send + 'scope) {
        let on_bee = move |scope: &Self| on_calling_bee(|me| job(scope, me));
        let task = self.prepare(on_bee);
        self.with_calling_bee(|me| self.count_job(me));
        queues::send_to(self.pool(), bee, task);
    }

    /// The number of threads of the scope's pool.
    pub fn threads(&self) -> usize {
        threads_of(self.pool())
    }

    fn pool(&self) -> &Shared {
        // SAFETY: the pool lives as long as the scope: see the field.
        unsafe { &*self.pool }
    }

    /// Calls `use_it` with the calling thread as a bee of the scope's pool, or with None if it is none.
    #[inline(always)]
    fn with_calling_bee<R>(&self, use_it: impl FnOnce(Option<PoolBee<'_>>) -> R) -> R {
        PoolBee::with(|me| use_it(me.filter(|me| me.is_of(self.pool()))))
    }

    /// Counts a job that is about to be queued by the calling thread, which is `me` in the scope's pool.
    #[inline(always)]
    fn count_job(&self, me: Option<PoolBee<'_>>) {
        match me {
            Some(me) => me.context().held_credit.add(self),
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
        if is_large(&job) {
            self.prepare_small(Box::new(job) as Box<dyn FnOnce(&Self) + Send + 'scope>)
        } else {
            self.prepare_small(job)
        }
    }

    fn prepare_small(&self, job: impl FnOnce(&Self) + Send + 'scope) -> Task {
        // SAFETY: what the job borrows outlives `'scope`, and so the scope, which waits for what is counted.
        unsafe { task_of_scope(self, job) }
    }
}

// SAFETY: `run_in`, in whose frame the scope lies, waits until nothing is counted.
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

impl PoolBee<'_> {
    /// Runs `body`, and then returns when all jobs that were spawned in the scope have ended.
    ///
    /// # Panics
    /// With the panic of `body`, or else with the first of a job, after all have ended.
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
        f.debug_struct("PoolScope").field("pool_number", &self.pool().team.unique_number()).finish_non_exhaustive()
    }
}
