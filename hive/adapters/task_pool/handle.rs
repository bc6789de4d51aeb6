//! The handle of a task pool.

use std::fmt;
use std::sync::Arc;

use crate::adapters::task_pool::pool_bee::PoolBee;
use crate::adapters::task_pool::scope::PoolScope;
use crate::adapters::task_pool::shared::{release, threads_of};
use crate::adapters::task_pool::{enter, spawn};
use crate::pool::shared::Shared;
use crate::region::closure_size::is_large;

/// A pool of threads that run tasks. When it is dropped, the pool ends as soon as all jobs that were spawned in it, and
/// those that they spawn, have run; the drop does not wait for that.
///
/// A call that gives work to other threads of a pool that was built before a fork panics in the forked child, which has
/// none of them.
pub struct TaskPool {
    shared: Arc<Shared>,
}

impl TaskPool {
    /// The handle of a pool whose only keeper is this handle.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The number of the pool's threads.
    pub fn threads(&self) -> usize {
        threads_of(&self.shared)
    }

    /// A number that no other pool or hive of this process has.
    pub fn unique_number(&self) -> u64 {
        self.shared.team.unique_number()
    }

    /// Calls `use_it` with the calling thread as a bee of this pool, or with None if it is none.
    pub fn with_bee<R>(&self, use_it: impl FnOnce(Option<PoolBee<'_>>) -> R) -> R {
        PoolBee::with(|me| use_it(me.filter(|me| me.is_of(&self.shared))))
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
            other => enter::hand_over(&self.shared, other, work),
        })
    }

    /// Runs `body` on the calling thread, and returns when all jobs that were spawned in the scope have ended, which
    /// the threads of this pool run.
    ///
    /// # Panics
    /// With the panic of `body`, or else with the first of a job, after all have ended. Also in a forked child.
    pub fn in_place_scope<'scope, R>(&self, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        PoolBee::with(|me| PoolScope::run_in(&self.shared, me, false, body))
    }

    /// As [`in_place_scope`](Self::in_place_scope), for jobs that are to be spawned by
    /// [`spawn_fifo`](PoolScope::spawn_fifo).
    pub fn in_place_scope_fifo<'scope, R>(&self, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
        PoolBee::with(|me| PoolScope::run_in(&self.shared, me, true, body))
    }

    /// Spawns a job that nobody waits for.
    ///
    /// # Panics
    /// In a forked child.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        spawn::spawn(&self.shared, false, job);
    }

    /// As [`spawn`](Self::spawn), but the jobs that one thread of the pool spawns this way are begun in that order.
    ///
    /// # Panics
    /// In a forked child.
    pub fn spawn_fifo(&self, job: impl FnOnce() + Send + 'static) {
        spawn::spawn(&self.shared, true, job);
    }

    /// Spawns a job that each thread of the pool runs once.
    ///
    /// # Panics
    /// In a forked child.
    pub fn spawn_broadcast(&self, job: impl Fn(PoolBee<'_>) + Send + Sync + 'static) {
        spawn::spawn_broadcast(&self.shared, job);
    }

    /// Runs `work` once on each thread of the pool, and returns the results in the order of their indices.
    ///
    /// # Panics
    /// With the first panic of `work`, after all have ended. Also in a forked child.
    pub fn broadcast<R: Send>(&self, work: impl Fn(PoolBee<'_>) -> R + Sync) -> Vec<R> {
        PoolBee::with(|me| spawn::broadcast(&self.shared, me, work))
    }
}

impl Drop for TaskPool {
    fn drop(&mut self) {
        release(&self.shared);
    }
}

impl fmt::Debug for TaskPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPool")
            .field("threads", &self.threads())
            .field("unique_number", &self.unique_number())
            .finish()
    }
}
