//! The handle of a task pool, and how a thread that does not belong to a pool has something run there: it hands it
//! over, as the only job of a scope, and waits.

use std::sync::Arc;

use crate::adapters::task_pool::pool_bee::{PoolBee, on_calling_bee, state_of, threads_of};
use crate::adapters::task_pool::pool_ref::PoolRef;
use crate::adapters::task_pool::resizing;
use crate::pool::shared::Shared;
use crate::region::closure_size::is_large;

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
/// is one of another pool, `me` says so.
///
/// # Panics
/// With the panic of `work`, or in a forked child.
#[cold]
#[inline(never)]
fn hand_over<R: Send>(pool: &Shared, me: Option<PoolBee<'_>>, work: impl FnOnce(PoolBee<'_>, bool) -> R + Send) -> R {
    let mut result = None;
    let run = |me: PoolBee<'_>| result = Some(work(me, true));
    PoolRef { pool, me }.scope(|scope| scope.spawn(|_| on_calling_bee(run)));
    result.unwrap_or_else(|| unreachable!("it has ended"))
}
