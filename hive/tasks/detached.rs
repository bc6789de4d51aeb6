//! Tasks that nothing waits for, such as those of `Hive::spawn`, and those of task pools.

#![allow(unsafe_code)]

use crate::pool::shared::Shared;
use crate::protocol::tasks::task::Task;
use crate::tasks::owned_job::{Job, JobPlace, task_of};

/// A job that nothing waits for.
struct DetachedJob<F>(F);

/// Makes a task of `job` for the hive of `shared`. Its panic goes to the hive's panic handler. In a task pool it is a
/// keeper of the pool, counted already.
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
        shared.release_keeper();
    }
}
