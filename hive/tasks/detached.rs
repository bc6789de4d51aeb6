//! Tasks that nothing waits for, such as those of `Hive::spawn`, and those of task pools.

#![allow(unsafe_code)]

use crate::pool::shared::Shared;
use crate::protocol::tasks::task::Task;
use crate::tasks::owned_job::{Job, JobPlace, task_of};

/// A job that nothing waits for.
struct DetachedJob<F>(F);

/// Makes a task that runs `job` for the hive or task pool of `shared`. A panic of the job goes to the panic handler. In
/// a task pool the job is a keeper of the pool, which the caller has counted (`TaskPoolState::add_keepers`).
pub(crate) fn detached(shared: &Shared, job: impl FnOnce() + Send + 'static) -> Task {
    // SAFETY: the closure is `'static`. The hive's shared state outlives every task that is queued in its team: all of
    // them are run before it goes.
    unsafe { task_of(shared, DetachedJob(job)) }
}

impl<F: FnOnce() + Send> Job for DetachedJob<F> {
    type Owner = Shared;
    unsafe fn run(shared: *const Shared, job: JobPlace<Self>) {
        // SAFETY: see `detached`.
        let shared = unsafe { &*shared };
        shared.config.handlers.catch_panic(job.take().0);
        // In a hive this does nothing.
        shared.release_keeper();
    }
}
