//! The interface of the crate `spindle`, which runs the jobs of the linear algebra library faer, on the threads of
//! hive. It takes that crate's place by `[patch.crates-io]`; `docs/drop-ins.md` in hive's repository says how, and
//! what differs.
//!
//! A call runs a number of *jobs*, on as many threads as there are jobs, but no more than Rayon's current pool has, nor
//! than the [lock](with_lock) allows that it is made in. The calling thread runs jobs as well, and it waits only for
//! jobs that somebody has begun. Called outside of Rayon's pools, the jobs are a loop of hive's (`hive::par_for`); on a
//! thread of such a pool they are tasks of that pool.
//!
//! ```
//! use rayon::prelude::*;
//!
//! let mut matrix = vec![0.0; 64 * 64];
//! spindle::with_lock(2, || {
//!     for step in 0..10 {
//!         spindle::for_each(2, matrix.par_chunks_mut(32 * 64), |rows| rows.fill(f64::from(step)));
//!     }
//! });
//! assert!(matrix.iter().all(|x| *x == 9.0));
//! ```

mod jobs;
mod parts;
mod place;

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator};

use crate::place::Place;
pub use crate::place::{current_num_threads, current_thread_index, max_num_threads};

/// What [`SPIN_LIMIT`] is at first.
pub const DEFAULT_SPIN_LIMIT: u32 = 65_536;

/// What [`PAUSE_LIMIT`] is at first.
pub const DEFAULT_PAUSE_LIMIT: u32 = 8;

/// 0: hive's workers are sent to sleep at the end of each outermost [`with_lock`]. With any other value they poll for
/// as long as hive's have learned that it pays (`HIVE_SPIN` sets that).
pub static SPIN_LIMIT: AtomicU32 = AtomicU32::new(DEFAULT_SPIN_LIMIT);

/// Is there because programs may set it. It has no effect: hive's workers poll in their own way.
pub static PAUSE_LIMIT: AtomicU32 = AtomicU32::new(DEFAULT_PAUSE_LIMIT);

/// Calls `f` on the calling thread, and lets the calls of [`for_each`] and [`for_each_raw`] in it use up to
/// `max_threads` threads. It takes nothing from anybody else: the threads are shared with all who want them. Directly
/// in another lock it changes nothing; in a job, it says what the calls of that job may use.
///
/// ```
/// let threads = spindle::with_lock(1, spindle::max_num_threads);
/// assert_eq!(threads, 1);
/// ```
///
/// # Panics
/// If `max_threads` is 0, and with a panic of `f`.
pub fn with_lock<R: Send>(max_threads: usize, f: impl Send + FnOnce() -> R) -> R {
    assert!(max_threads != 0, "a lock for no threads: ask for at least one");
    let outer = Place::current();
    if outer.is_some_and(|place| place.index.is_none()) {
        return f();
    }
    let threads = max_threads.min(rayon::current_num_threads());
    let result = Place { threads, index: None }.hold(f);
    // Relaxed: a setting.
    if outer.is_none() && SPIN_LIMIT.load(Ordering::Relaxed) == 0 {
        hive::stop_spinning();
    }
    result
}

/// Cuts `iter` into `n_jobs` parts of about the same length, or as many as it has items if these are fewer, and runs
/// each as a job: calls `f` with its items, in order. Returns when all jobs are done.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let sum = AtomicUsize::new(0);
/// spindle::for_each(4, 0..100_usize, |x| _ = sum.fetch_add(x, Ordering::Relaxed));
/// assert_eq!(sum.into_inner(), 4950);
/// ```
///
/// # Panics
/// With a panic of `f`, when all jobs that have been begun are done. Others may not be run then.
pub fn for_each<T, I: IntoParallelIterator<Iter: IndexedParallelIterator, Item = T>>(
    n_jobs: usize,
    iter: I,
    f: impl Sync + Fn(T),
) {
    parts::for_each(n_jobs, iter.into_par_iter(), &f);
}

/// Calls `f` with each number below `n_jobs`, each call a job. Returns when all are done.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let sum = AtomicUsize::new(0);
/// spindle::for_each_raw(100, |job| _ = sum.fetch_add(job, Ordering::Relaxed));
/// assert_eq!(sum.into_inner(), 4950);
/// ```
///
/// # Panics
/// With a panic of `f`, when all jobs that have been begun are done. Others may not be run then.
pub fn for_each_raw(n_jobs: usize, f: impl Sync + Fn(usize)) {
    jobs::run(n_jobs, &f);
}

/// Sends hive's workers to sleep now, if called in a [`with_lock`]: what follows is long and has no jobs for them. They
/// would go to sleep by themselves in a fraction of a millisecond.
///
/// ```
/// spindle::with_lock(2, spindle::relieve_workers);
/// ```
pub fn relieve_workers() {
    if Place::current().is_some() {
        hive::stop_spinning();
    }
}
