//! Threads for candle's CPU kernels, on hive: this file takes the place of candle-core's of the same name, in version
//! 0.11, whose `BarrierPool` has threads of its own. Everything is here that the rest of candle-core, and programs,
//! call there.
//!
//! A call of the pool is one loop of hive's: the calling thread begins at once, and waits only for what somebody has
//! begun. So calls in calls return, several threads may call at the same time, and where the workers have no CPU, or
//! the loop is too short for them, the caller runs all of it.

use std::ops::Range;
use std::str::FromStr;
use std::sync::OnceLock;

use hive::{Loop, Schedule};

/// A call hands out so many chunks for each thread, as the original does.
const CHUNKS_PER_THREAD: usize = 8;

/// The threads that candle's kernels share out their work to: bees of the current hive, mostly the global one.
pub struct BarrierPool {
    /// How many of them take part at most, the calling thread among them.
    threads: usize,
}

impl BarrierPool {
    /// How many threads may take part besides the calling one.
    #[inline]
    pub fn n_workers(&self) -> usize {
        self.threads - 1
    }

    /// Calls `f` with each number up to [`n_workers`](Self::n_workers), on as many threads as are free. They must not
    /// wait for each other.
    ///
    /// # Panics
    /// With a panic of `f`, when all calls that have begun have ended.
    pub fn execute<F: Fn(usize) + Sync>(&self, f: F) {
        hive::par_for(Loop::new(0..self.threads, Schedule::Static), |numbers, _| numbers.for_each(&f));
    }

    /// Calls `f` with up to one range for each thread, of about the same length. Together they are all numbers below
    /// `n_items`.
    pub(crate) fn execute_static<F: Fn(Range<usize>) + Sync>(&self, n_items: usize, f: F) {
        self.share_out(n_items, Schedule::Static, f);
    }

    /// Calls `f` with ranges that together are all numbers below `n_items`. A thread that is done with one gets the
    /// next.
    ///
    /// # Panics
    /// With a panic of `f`, when all calls that have begun have ended.
    pub fn execute_chunked<F: Fn(Range<usize>) + Sync>(&self, n_items: usize, f: F) {
        let chunk = n_items.div_ceil(self.threads * CHUNKS_PER_THREAD).max(1);
        self.share_out(n_items, Schedule::Dynamic(chunk), f);
    }

    fn share_out<F: Fn(Range<usize>) + Sync>(&self, n_items: usize, schedule: Schedule, f: F) {
        if n_items > 0 {
            // So no more bees take part than there are to be threads.
            let work = Loop::new(0..n_items, schedule).min_work(n_items.div_ceil(self.threads));
            hive::par_for(work, |range, _| f(range));
        }
    }
}

/// The pool of all kernels. It has as many threads as `CANDLE_NUM_THREADS` says, or `RAYON_NUM_THREADS`, or as there
/// are bees, and no more than these.
pub fn barrier_pool() -> &'static BarrierPool {
    static POOL: OnceLock<BarrierPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let threads = number_in("CANDLE_NUM_THREADS").unwrap_or_else(get_num_threads);
        BarrierPool { threads: threads.min(hive::bees()) }
    })
}

/// Calls `f` on a thread of candle's own Rayon pool, whose threads Rayon's iterators in it use.
pub fn with_threadpool<F: FnOnce() -> R + Send, R: Send>(f: F) -> R {
    candle_pool().install(f)
}

/// Gives Rayon's global pool as many threads as [`get_num_threads`] says, unless it is there already.
pub fn init_global_threadpool() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(get_num_threads()).build_global();
}

/// As many threads as `RAYON_NUM_THREADS` says, or as there are bees.
pub fn get_num_threads() -> usize {
    number_in("RAYON_NUM_THREADS").unwrap_or_else(hive::bees)
}

/// The number above 0 that is in an environment variable.
fn number_in(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().and_then(|text| usize::from_str(&text).ok()).filter(|number| *number > 0)
}

pub(crate) fn candle_pool() -> &'static rayon::ThreadPool {
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        rayon::ThreadPoolBuilder::new().num_threads(get_num_threads()).build().expect("the system makes threads")
    })
}

/// Is there because programs may call it. Where hive's workers run is for hive to choose, or for `HIVE_PIN`.
#[inline(always)]
pub fn set_thread_affinity() {}

pub fn has_accelerate() -> bool {
    cfg!(feature = "accelerate")
}

pub fn has_mkl() -> bool {
    cfg!(feature = "mkl")
}

pub fn cuda_is_available() -> bool {
    cfg!(feature = "cuda")
}

pub fn metal_is_available() -> bool {
    cfg!(feature = "metal")
}

pub fn with_avx() -> bool {
    crate::cpu::features::get().avx2
}

pub fn with_neon() -> bool {
    crate::cpu::features::get().neon
}

pub fn with_simd128() -> bool {
    cfg!(target_feature = "simd128")
}

pub fn with_f16c() -> bool {
    crate::cpu::features::get().f16c
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Each number below `items` comes once, whoever calls.
    fn assert_complete(items: usize, call: impl Fn(&BarrierPool, usize, &(dyn Fn(Range<usize>) + Sync))) {
        let counts: Vec<_> = (0..items).map(|_| AtomicUsize::new(0)).collect();
        call(barrier_pool(), items, &|range| range.for_each(|item| _ = counts[item].fetch_add(1, Ordering::Relaxed)));
        assert!(counts.into_iter().all(|count| count.into_inner() == 1), "{items} items");
    }

    #[test]
    fn all_items_come_once_in_calls_in_calls_and_from_several_threads() {
        let both = |items| {
            assert_complete(items, |pool, items, f| pool.execute_static(items, f));
            assert_complete(items, |pool, items, f| pool.execute_chunked(items, f));
        };
        [0, 1, 2, 7, 1000].into_iter().for_each(both);
        barrier_pool().execute(|_| both(100));
        barrier_pool().execute_chunked(3, |_| barrier_pool().execute(|_| both(100)));
        std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| both(1000))));
    }

    #[test]
    fn a_panic_comes_to_the_caller_and_the_next_call_works() {
        for panicking in 0..=barrier_pool().n_workers() {
            let call = || barrier_pool().execute(|number| assert!(number != panicking, "as expected"));
            assert!(std::panic::catch_unwind(call).is_err());
            assert_complete(50, |pool, items, f| pool.execute_static(items, f));
        }
    }
}
