//! Jobs of task pools that nobody waits for, and broadcasts.

#![allow(unsafe_code)]

use std::sync::Arc;

use crate::adapters::task_pool::pool_bee::{PoolBee, on_calling_bee};
use crate::adapters::task_pool::queues::{push_fifo, push_or_inject, queue_own_joins, send_to};
use crate::adapters::task_pool::scope::PoolScope;
use crate::adapters::task_pool::shared::{bees_of, release, state_of, threads_of};
use crate::pool::shared::Shared;
use crate::protocol::tasks::task::Task;
use crate::region::closure_size::is_large;
use crate::tasks::owned_job::{Job, JobPlace, task_of};

/// Spawns a job, in the order of the calling thread's such jobs if `in_order`.
///
/// # Panics
/// In a forked child.
pub(super) fn spawn(pool: &Shared, in_order: bool, job: impl FnOnce() + Send + 'static) {
    pool.assert_not_forked();
    state_of(pool).add_keepers(1);
    let task =
        if is_large(&job) { detached(pool, Box::new(job) as Box<dyn FnOnce() + Send>) } else { detached(pool, job) };
    if in_order { push_fifo(pool, task) } else { push_or_inject(pool, task) }
}

/// Spawns a job that each thread of the pool runs once.
///
/// # Panics
/// In a forked child.
pub(super) fn spawn_broadcast(pool: &Shared, job: impl Fn(PoolBee<'_>) + Send + Sync + 'static) {
    pool.assert_not_forked();
    let (job, threads) = (Arc::new(job), threads_of(pool));
    // All at once: the pool must not end between the first and the last.
    state_of(pool).add_keepers(threads);
    queue_own_joins(pool);
    pool.team.send_in_one_order(|| {
        for bee in bees_of(pool) {
            let job = Arc::clone(&job);
            send_to(pool, bee, detached(pool, move || on_calling_bee(|me| job(me))));
        }
    });
}

/// Runs `work` once on each thread of the pool, and returns the results. If the calling thread belongs to a pool,
/// `caller` says so. In a pool that has ended, threads that are left run it in the place of those that are not.
///
/// # Panics
/// With the first panic of `work`, after all have ended; and in a forked child.
pub(super) fn broadcast<R: Send>(
    pool: &Shared,
    caller: Option<PoolBee<'_>>,
    work: impl Fn(PoolBee<'_>) -> R + Sync,
) -> Vec<R> {
    let threads = threads_of(pool);
    queue_own_joins(pool);
    if let (Some(me), 1) = (caller.filter(|caller| caller.is_of(pool)), threads) {
        // The calling thread is the only one. What it has queued before comes first, as on every thread.
        if !me.context().has_queued_tasks() {
            return vec![work(me)];
        }
    }
    let mut results: Vec<_> = (0..threads).map(|_| None).collect();
    PoolScope::run_in(pool, caller, false, |scope| {
        let work = &work;
        pool.team.send_in_one_order(|| {
            for (bee, result) in bees_of(pool).zip(&mut results) {
                scope.spawn_on(bee, move |_, me| *result = Some(work(me)));
            }
        });
    });
    results.into_iter().map(|result| result.unwrap_or_else(|| unreachable!("each job has ended"))).collect()
}

/// A task that runs `job`, whose panic goes to the panic handler, and that is a keeper of the pool, counted already.
fn detached(pool: &Shared, job: impl FnOnce() + Send + 'static) -> Task {
    // SAFETY: the job is `'static`. The thread that runs the task belongs to the pool and keeps what its threads share.
    unsafe { task_of(pool, DetachedJob(job)) }
}

/// A job that nothing waits for, and that keeps its pool.
struct DetachedJob<F>(F);

impl<F: FnOnce() + Send> Job for DetachedJob<F> {
    type Owner = Shared;
    unsafe fn run(pool: *const Shared, job: JobPlace<Self>) {
        // SAFETY: see `detached`.
        let pool = unsafe { &*pool };
        pool.config.handlers.catch_panic(job.take().0);
        release(pool);
    }
}

impl PoolBee<'_> {
    /// Spawns a job in the pool, which nobody waits for.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        spawn(self.shared(), false, job);
    }

    /// As [`spawn`](Self::spawn), but the jobs that this thread spawns this way are begun in that order.
    pub fn spawn_fifo(&self, job: impl FnOnce() + Send + 'static) {
        spawn(self.shared(), true, job);
    }

    /// Spawns a job that each thread of the pool runs once.
    pub fn spawn_broadcast(&self, job: impl Fn(PoolBee<'_>) + Send + Sync + 'static) {
        spawn_broadcast(self.shared(), job);
    }

    /// Runs `work` once on each thread of the pool, and returns the results in the order of their indices.
    ///
    /// # Panics
    /// With the first panic of `work`, after all have ended.
    pub fn broadcast<R: Send>(&self, work: impl Fn(PoolBee<'_>) -> R + Sync) -> Vec<R> {
        broadcast(self.shared(), Some(*self), work)
    }
}
