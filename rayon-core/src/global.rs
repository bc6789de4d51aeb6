//! The global pool, and what the functions act on that name no pool: the pool of the calling thread, or else the
//! global one.

use hive::adapters::task_pool::PerProcess;
use hive::adapters::task_pool::builder::MAX_THREADS;
use hive::adapters::task_pool::handle::TaskPool;
use hive::adapters::task_pool::pool_bee::PoolBee;
use hive::adapters::task_pool::pool_ref::PoolRef;

use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::thread::ThreadSpawn;

static GLOBAL: PerProcess<TaskPool> = PerProcess::new();

/// The global pool. Builds it if there is none.
///
/// # Panics
/// If it cannot be built.
#[inline]
fn global() -> &'static TaskPool {
    GLOBAL.get().unwrap_or_else(build_default)
}

#[cold]
fn build_default() -> &'static TaskPool {
    GLOBAL
        .get_or_make(|| ThreadPoolBuilder::new().build_pool())
        .unwrap_or_else(|error| panic!("the global thread pool cannot be built: {error}"))
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the global pool, which the functions use that name no pool, on threads that belong to none.
    ///
    /// ```
    /// rayon_core::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    /// assert_eq!(rayon_core::current_num_threads(), 2);
    /// ```
    ///
    /// # Errors
    /// If there is a global pool already; else as [`build`](Self::build).
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        GLOBAL.make(|| self.build_pool()).unwrap_or(Err(ThreadPoolBuildError::GLOBAL_POOL_EXISTS)).map(drop)
    }
}

/// Calls `use_it` with the pool that the calling thread belongs to, or else with the global one.
pub(crate) fn with_current_pool<R>(use_it: impl FnOnce(PoolRef<'_, '_>) -> R) -> R {
    PoolBee::with(|me| match me {
        Some(me) => use_it(me.pool()),
        None => global().with(use_it),
    })
}

/// Runs `work` on the calling thread, if that belongs to a pool, and otherwise on a thread of the global pool. `work`
/// also learns whether it was handed over for that.
#[inline]
pub(crate) fn in_current_pool<R: Send>(work: impl FnOnce(PoolBee<'_>, bool) -> R + Send) -> R {
    PoolBee::with(|me| match me {
        Some(me) => work(me, false),
        None => global().enter(work),
    })
}

/// The number of threads of the pool that the calling thread belongs to, or else of the global pool, which is built if
/// there is none. If the [number of parts](ThreadPoolBuilder::fixed_parts) is fixed, that.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// ```
pub fn current_num_threads() -> usize {
    PoolBee::with(|me| me.map_or_else(|| global().parts(), |me| me.fixed_parts().unwrap_or_else(|| me.threads())))
}

/// The largest number of threads that a pool can have. A pool that is to have more gets so many.
///
/// ```
/// assert!(rayon_core::max_num_threads() >= 255);
/// ```
pub fn max_num_threads() -> usize {
    MAX_THREADS
}
