//! A pool that a whole process uses, and that is built when it is first needed.

use crate::adapters::task_pool::handle::TaskPool;
use crate::sys::process::PerProcess;

/// A place for a pool that is never dropped. A forked child, which has none of the threads of its parent's pool, gets
/// one of its own.
///
/// ```
/// use hive::adapters::task_pool::builder::PoolBuilder;
/// use hive::adapters::task_pool::global::GlobalPool;
///
/// static POOL: GlobalPool = GlobalPool::new();
/// let build = || {
///     PoolBuilder::default().build(2, |thread| std::thread::Builder::new().spawn(|| thread.run()).map(drop))
/// };
/// assert_eq!(POOL.get_or_build(build)?.threads(), 2);
/// assert!(POOL.build(build).is_none(), "there is one already");
/// # Ok::<(), hive::adapters::task_pool::builder::BuildError>(())
/// ```
pub struct GlobalPool(PerProcess<TaskPool>);

impl GlobalPool {
    /// A place without a pool.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self(PerProcess::new())
    }

    /// The pool, if this process has built it.
    pub fn get(&self) -> Option<&'static TaskPool> {
        self.0.get()
    }

    /// The pool. If there is none yet, `build` makes it; other threads that ask meanwhile wait for that.
    ///
    /// # Errors
    /// The error of `build`; the next call tries again.
    pub fn get_or_build<E>(&'static self, build: impl FnOnce() -> Result<TaskPool, E>) -> Result<&'static TaskPool, E> {
        self.0.get_or_make(build)
    }

    /// Makes the pool by `build`, unless there is one: then it returns None.
    pub fn build<E>(
        &'static self,
        build: impl FnOnce() -> Result<TaskPool, E>,
    ) -> Option<Result<&'static TaskPool, E>> {
        self.0.make(build).ok()
    }
}
