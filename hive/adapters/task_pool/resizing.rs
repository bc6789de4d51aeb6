//! How many of their threads pools use: for all pools of a process by [`limit_threads`], for one by [`resize`].
//!
//! A pool has the threads that it was built with to its end, and programs that ask for their number go on getting that:
//! they have arrays with an element for each. Of these threads it uses the first ones. A thread that is not used any
//! more ends the job that it is in the middle of, wakes others that steal what it has queued, and sleeps until it is
//! used again; no thread is made or ended. Only what each thread has to run once, a broadcast, wakes it before that.
//!
//! ```
//! use hive::adapters::task_pool::builder::PoolBuilder;
//! use hive::adapters::task_pool::resizing;
//!
//! let pool = PoolBuilder::default().build(4, |thread| {
//!     std::thread::Builder::new().spawn(|| thread.run()).map(drop)
//! })?;
//! assert_eq!(pool.resize(2), 2); // from anywhere
//! assert_eq!(pool.enter(|_, _| resizing::resize(3)), Some(3)); // by a job, for its own pool
//! resizing::limit_threads(1); // all pools, also those that are built later
//! assert_eq!((resizing::most_in_use(), pool.threads()), (Some(1), 4));
//! resizing::limit_threads(usize::MAX);
//! assert_eq!(resizing::most_in_use(), Some(3));
//! # Ok::<(), hive::adapters::task_pool::builder::BuildError>(())
//! ```

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::adapters::task_pool::pool_bee::{PoolBee, state_of, threads_of};
use crate::pool::shared::Shared;
use crate::pool::task_pool_state::PoolSize;
use crate::sys::process::OfProcess;

/// The pools of this process, some of which may have ended.
static POOLS: OfProcess<Vec<Weak<Shared>>> = OfProcess::new(Vec::new());

/// How many of its threads each pool may use. 0: nobody has said so, and what the environment says holds.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Limits the number of threads that each pool of this process uses, also those that are built later, and in forked
/// children; 0 counts as 1, and `usize::MAX` is no limit. It takes the place of what the variable `HIVE_POOL_THREADS`
/// has said.
///
/// This changes the states of threads and waits for none of them. A thread that has to give up its CPU does so when the
/// job has ended that it is in the middle of.
pub fn limit_threads(threads: usize) {
    // Relaxed: whoever sees no new value here builds a pool that is not yet among `POOLS`, and reads it once more when
    // it is, under the lock.
    LIMIT.store(threads.max(1), Ordering::Relaxed);
    living_pools().iter().for_each(|pool| _ = apply(pool, |_| ()));
}

/// Has the pool that the calling thread belongs to use as many of its threads as this from now on, at least one and at
/// most all. Returns how many that are, which may be fewer because of a [limit](limit_threads). None: the thread
/// belongs to no pool.
pub fn resize(threads: usize) -> Option<usize> {
    PoolBee::with(|me| me.map(|me| resize_pool(me.shared(), threads)))
}

/// The limit that [`limit_threads`] has set. None: there is none.
pub fn thread_limit() -> Option<usize> {
    // Relaxed: a number.
    Some(LIMIT.load(Ordering::Relaxed)).filter(|limit| ![0, usize::MAX].contains(limit))
}

/// The largest number of threads that a pool of this process uses. None: there is no pool.
pub fn most_in_use() -> Option<usize> {
    living_pools().iter().map(|pool| to_use(pool, &state_of(pool).size.lock())).max()
}

/// The largest number of threads that a pool of this process has. None: there is no pool.
pub fn most_threads() -> Option<usize> {
    living_pools().iter().map(|pool| threads_of(pool)).max()
}

pub(super) fn resize_pool(pool: &Shared, threads: usize) -> usize {
    apply(pool, |size| size.asked = threads)
}

/// Takes a pool whose threads have all been started for one whose number of threads can be changed, and gives it the
/// number that it is to have.
pub(super) fn begin(pool: &Arc<Shared>) {
    POOLS.with(|_, pools| {
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(pool));
    });
    apply(pool, |size| size.is_built = true);
}

/// The pools that have not ended. They may not be dropped under the lock.
fn living_pools() -> Vec<Arc<Shared>> {
    let pools: Vec<_> = POOLS.with(|_, pools| pools.iter().filter_map(Weak::upgrade).collect());
    // Relaxed: a pool that ends now may count or not.
    pools.into_iter().filter(|pool| !pool.has_ended.load(Ordering::Relaxed)).collect()
}

/// Makes a change to what is asked of a pool, and has it use as many threads as are asked of it then. Returns their
/// number.
///
/// While threads are being started that is left to `begin`: they are started under the lock of resizes, by code of the
/// program's, which may wait for somebody who comes here.
fn apply(pool: &Shared, change: impl FnOnce(&mut PoolSize)) -> usize {
    if pool.is_forked() {
        return threads_of(pool);
    }
    let mut size = state_of(pool).size.lock();
    change(&mut size);
    let threads = to_use(pool, &size);
    if size.is_built {
        let bees = state_of(pool).first_bee + threads as u32;
        let resized = pool.team.resize(bees, |_, _| -> Result<(), Infallible> { unreachable!("all are there") });
        resized.unwrap_or_else(|never| match never {});
    }
    threads
}

/// How many threads a pool is to use of which this is asked.
fn to_use(pool: &Shared, size: &PoolSize) -> usize {
    // Relaxed: whoever stores a new limit takes the lock of `size` after that.
    let limit = match LIMIT.load(Ordering::Relaxed) {
        0 => size.environment,
        limit => limit,
    };
    size.asked.min(limit).clamp(1, threads_of(pool))
}
