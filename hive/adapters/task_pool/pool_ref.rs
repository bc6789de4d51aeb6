//! What a thread may start in a pool: jobs that nobody waits for, and broadcasts. Scopes are in `scope.rs`.

#![allow(unsafe_code)]

use std::sync::Arc;

use crate::adapters::task_pool::pool_bee::{PoolBee, bees_of, on_calling_bee, state_of, threads_of};
use crate::pool::shared::Shared;
use crate::protocol::tasks::fifo::Fifo;
use crate::protocol::tasks::task::Task;
use crate::region::closure_size::boxed_if_large;
use crate::tasks::owned_job::detached;

/// A pool as the calling thread sees it, which may be one of its threads. It stays on that thread.
#[derive(Clone, Copy)]
pub struct PoolRef<'p, 'm> {
    pub(super) pool: &'p Shared,
    /// The calling thread, if it belongs to this pool or to another one.
    pub(super) me: Option<PoolBee<'m>>,
}

impl<'m> PoolBee<'m> {
    /// The pool, to spawn jobs and to begin scopes in it.
    #[inline(always)]
    pub fn pool(self) -> PoolRef<'m, 'm> {
        PoolRef { pool: self.shared(), me: Some(self) }
    }
}

impl<'m> PoolRef<'_, 'm> {
    /// The calling thread as a bee of this pool. None: it is none.
    #[inline(always)]
    pub(super) fn bee(self) -> Option<PoolBee<'m>> {
        self.me.filter(|me| me.is_of(self.pool))
    }

    /// Spawns a job that nobody waits for.
    ///
    /// # Panics
    /// In a forked child.
    pub fn spawn(self, job: impl FnOnce() + Send + 'static) {
        self.spawn_by(&[], job);
    }

    /// As [`spawn`](Self::spawn), but the jobs that one thread of the pool spawns this way are begun in that order.
    ///
    /// # Panics
    /// In a forked child.
    pub fn spawn_fifo(self, job: impl FnOnce() + Send + 'static) {
        self.spawn_by(&state_of(self.pool).fifos, job);
    }

    /// Spawns a job by way of the calling bee's queue among `fifos`, which are none or the pool's.
    fn spawn_by(self, fifos: &[Fifo], job: impl FnOnce() + Send + 'static) {
        self.pool.assert_not_forked();
        state_of(self.pool).add_keepers(1);
        let task = boxed_if_large!(job: dyn FnOnce() + Send => detached(self.pool, job));
        // SAFETY: the queues belong to the pool, whose threads run all proxies before they end.
        unsafe { self.push(fifos, task) };
    }

    /// Queues a task: in the deque of the calling thread, if that belongs to the pool, and otherwise in the injector,
    /// for any thread of the pool. `fifos`: none, or one for each bee. With them, the tasks that one thread of the pool
    /// queues are begun in the order in which it has queued them.
    ///
    /// # Safety
    /// The queues live until all tasks that were queued by way of them have begun to run.
    #[inline]
    pub(super) unsafe fn push(self, fifos: &[Fifo], task: Task) {
        let Some(context) = self.bee().map(|me| me.context) else { return self.pool.team.inject(task) };
        context.push_spawned(match fifos.get(context.id as usize) {
            // SAFETY: the caller promises it.
            Some(fifo) => unsafe { fifo.push(task) },
            None => task,
        });
    }

    /// Spawns a job that each thread of the pool runs once.
    ///
    /// # Panics
    /// In a forked child.
    pub fn spawn_broadcast(self, job: impl Fn(PoolBee<'_>) + Send + Sync + 'static) {
        let pool = self.pool;
        pool.assert_not_forked();
        let job = Arc::new(job);
        // All at once: the pool must not end between the first and the last.
        state_of(pool).add_keepers(threads_of(pool));
        self.send_to_each(|bee| {
            let job = Arc::clone(&job);
            pool.team.inject_to_bee_or_any(bee, detached(pool, move || on_calling_bee(|me| job(me))));
        });
    }

    /// Runs `work` once on each thread of the pool, and returns the results in the order of their indices. In a pool
    /// that has ended, threads that are left run it in the place of those that are not.
    ///
    /// # Panics
    /// With the first panic of `work`, after all have ended. Also in a forked child.
    pub fn broadcast<R: Send>(self, work: impl Fn(PoolBee<'_>) -> R + Sync) -> Vec<R> {
        let pool = self.pool;
        self.queue_own_joins();
        let mut results: Vec<_> = bees_of(pool).map(|_| None).collect();
        self.scope(|scope| {
            let work = &work;
            pool.team.send_in_one_order(|| {
                for (bee, result) in bees_of(pool).zip(&mut results) {
                    scope.spawn_on(bee, move |_, me| *result = Some(work(me)));
                }
            });
        });
        results.into_iter().map(|result| result.unwrap_or_else(|| unreachable!("each job has ended"))).collect()
    }

    /// Sends a job to each thread of the pool by `send`, which gets the number of the thread's bee. All threads get
    /// such jobs in the same order.
    pub(super) fn send_to_each(self, send: impl FnMut(u32)) {
        self.queue_own_joins();
        self.pool.team.send_in_one_order(|| bees_of(self.pool).for_each(send));
    }

    /// Has the calling thread, if it belongs to the pool, put the second halves of joins that it is in the middle of
    /// into its deque, before it sends a broadcast: as all that it has queued before, they come first.
    fn queue_own_joins(self) {
        if let Some(me) = self.bee() {
            me.context.share_all_joins();
        }
    }
}
