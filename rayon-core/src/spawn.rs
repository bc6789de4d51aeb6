//! Jobs that nobody waits for; and what a thread of a pool knows of itself and of its tasks.

use hive::adapters::task_pool::pool_bee::PoolBee;

use crate::global::with_current_pool;

/// Spawns a job in the calling thread's pool, or else in the global one.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send(6 * 7).unwrap());
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
///
/// A panic of the job goes to the pool's panic handler; without one it ends the process.
pub fn spawn<F: FnOnce() + Send + 'static>(job: F) {
    with_current_pool(|pool| pool.spawn(job));
}

/// As [`spawn`], but the jobs that one thread of a pool spawns this way are begun in that order.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(job: F) {
    with_current_pool(|pool| pool.spawn_fifo(job));
}

/// What a thread has done that was to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It has run a task.
    Executed,
    /// There was no task.
    Idle,
}

impl Yield {
    pub(crate) fn of(has_run: bool) -> Self {
        if has_run { Self::Executed } else { Self::Idle }
    }
}

/// Runs a task of the calling thread's pool, if there is one. `None`: the thread belongs to no pool.
///
/// ```
/// assert_eq!(rayon_core::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    PoolBee::with(|me| me.map(|me| Yield::of(me.run_one())))
}

/// Runs a task that the calling thread has queued itself, or that only it may run. `None`: the thread belongs to no
/// pool.
///
/// ```
/// assert_eq!(rayon_core::scope(|_| rayon_core::yield_local()), Some(rayon_core::Yield::Idle));
/// ```
pub fn yield_local() -> Option<Yield> {
    PoolBee::with(|me| me.map(|me| Yield::of(me.run_one_own())))
}

/// The number of the calling thread in its pool, from 0. `None`: the thread belongs to no pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_index(), None);
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    PoolBee::with(|me| me.map(|me| me.index()))
}

/// Whether the calling thread has queued tasks itself that wait to be run. `None`: the thread belongs to no pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    PoolBee::with(|me| me.map(|me| me.has_pending_tasks()))
}
