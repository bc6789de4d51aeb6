//! A pool that a whole process uses, and that is built when it is first needed.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::adapters::task_pool::handle::TaskPool;
use crate::sys::fork;
use crate::sys::process::ProcessLock;

/// A place for a pool that is never dropped. A forked child, which has none of the threads of its parent's pool, gets
/// one of its own.
///
/// ```
/// use hive::adapters::task_pool::builder::PoolBuilder;
/// use hive::adapters::task_pool::global::GlobalPool;
///
/// static POOL: GlobalPool = GlobalPool::new();
/// let build = || PoolBuilder::new(2).build(|thread| std::thread::Builder::new().spawn(|| thread.run()).map(drop));
/// assert_eq!(POOL.get_or_build(build)?.threads(), 2);
/// assert!(POOL.build(build).is_none(), "there is one already");
/// # Ok::<(), hive::adapters::task_pool::builder::BuildError>(())
/// ```
pub struct GlobalPool {
    /// The pool; null if there is none. Written before `generation`.
    pool: AtomicPtr<TaskPool>,
    /// One more than the fork generation of the process that has built it; 0 if there is none.
    generation: AtomicU32,
    /// The lock that is held while a pool is built, with the generation of the process whose lock it is. Locks are
    /// leaked, but a process has at most one of its own.
    build_lock: ProcessLock<Option<(u32, &'static Mutex<()>)>>,
}

impl GlobalPool {
    /// A place without a pool.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self {
            pool: AtomicPtr::new(ptr::null_mut()),
            generation: AtomicU32::new(0),
            build_lock: ProcessLock::new(None),
        }
    }

    /// The pool, if this process has built it.
    #[expect(unsafe_code, reason = "reads a reference that is kept as an atomic pointer")]
    pub fn get(&self) -> Option<&'static TaskPool> {
        // Acquire: pairs with the Release in `build`; the pool is there then.
        let is_of_this_process = self.generation.load(Ordering::Acquire) == fork::generation() + 1;
        // Relaxed: ordered by the load before it.
        let pool = self.pool.load(Ordering::Relaxed);
        // SAFETY: where it is not null, it is a reference that `build` has leaked.
        if is_of_this_process { unsafe { pool.as_ref() } } else { None }
    }

    /// The pool. If there is none yet, `build` makes it; other threads that ask meanwhile wait for that.
    ///
    /// # Errors
    /// The error of `build`; the next call tries again.
    pub fn get_or_build<E>(&self, build: impl FnOnce() -> Result<TaskPool, E>) -> Result<&'static TaskPool, E> {
        match self.get() {
            Some(pool) => Ok(pool),
            None => self.build(build).unwrap_or_else(|| Ok(self.get().unwrap_or_else(|| unreachable!("it was built")))),
        }
    }

    /// Makes the pool by `build`, unless there is one: then it returns None.
    pub fn build<E>(&self, build: impl FnOnce() -> Result<TaskPool, E>) -> Option<Result<&'static TaskPool, E>> {
        let generation = fork::generation();
        let lock = self.build_lock.with(|lock| {
            let of_process = lock.filter(|(of, _)| *of == generation);
            lock.insert(of_process.unwrap_or_else(|| (generation, Box::leak(Box::default())))).1
        });
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.get().is_some() {
            return None;
        }
        Some(build().map(|pool| {
            let pool = Box::into_raw(Box::new(pool));
            // Relaxed: the store below publishes it.
            self.pool.store(pool, Ordering::Relaxed);
            // Release: pairs with the Acquire in `get`.
            self.generation.store(generation + 1, Ordering::Release);
            self.get().unwrap_or_else(|| unreachable!("it was built"))
        }))
    }
}
