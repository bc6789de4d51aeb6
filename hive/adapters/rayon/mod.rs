//! rayon as a guest: its workers are the hive's own bees, so that parallel iterators and regions share one set of threads.
//!
//! ```
//! use rayon::prelude::*;
//!
//! let hive = hive::Hive::builder().bees(3).host_rayon(true).build()?;
//! let mut x = vec![1.0; 10_000];
//! for step in 0..10 {
//!     let scale = 1.0 / f64::from(step + 1);
//!     hive.rayon(3, || x.par_iter_mut().for_each(|x| *x += scale));
//!     let parts = hive.spmd_map(3, |bee| x[bee.split(0..x.len())].iter().sum::<f64>());
//!     assert!(parts.iter().sum::<f64>() > 10_000.0);
//! }
//! # Ok::<(), hive::BuildError>(())
//! ```
//!
//! From a region to a parallel iterator and back costs the start of a region: no pool is woken, and no CPU has two threads that want it.
//!
//! # Who is a worker
//! A hive that is built with [`host_rayon`](crate::pool::config::Builder::host_rayon) has a rayon pool with a worker for each bee that it starts with: bee 1 is worker 1, and
//! so on; worker 0 is the thread that builds the hive, and stays so for as long as it lives, because rayon has no way back. That thread can therefore
//! build one such hive only. Bees that are hired later, beyond the pool's size, are no workers.
//!
//! rayon's workers never sleep by rayon's means, except where a worker waits for a job that another has taken: a bee is in the hive's own loop, or in a region.
//! Resizing, places, pinning and waiting are the hive's.
//!
//! # Where rayon's calls go
//! - In the closure given to [`Hive::rayon`]: to all bees of its region.
//! - In a region's body, in a hive's task, and on the builder's thread outside of all that: to the pool as well, but nobody else looks for jobs. `join`,
//!   `scope` and parallel iterators run on the calling thread then; another that waits in rayon too may help. What must not be done there is waiting for others: `broadcast`
//!   would not end, nor would a wait for something that was given to `spawn`.
//! - On any other thread: to rayon's global pool, which is another set of threads.
//!
//! What is given to `rayon::spawn` runs when a worker looks: in some later [`Hive::rayon`], or when the hive is dropped, which waits for it.

pub(crate) mod call;
pub(crate) mod worker;

use std::sync::{Arc, Mutex, PoisonError};

use rayon_core::ThreadPool;

use crate::adapters::rayon::call::RayonCall;
use crate::pool::error::{BuildError, BuildProblem};
use crate::pool::handle::Hive;

/// A hive's rayon pool. Each bee that is a worker has a share in it as long as it lives, as has the hive's handle; with the last the pool ends.
pub(crate) struct RayonPool {
    pool: Arc<ThreadPool>,
}

impl Hive {
    /// Runs `work` with rayon on `n` bees of this hive, the calling thread among them, and returns what it returns.
    ///
    /// It is a [region](Self::spmd): the caller runs `work`, and the bees run rayon's jobs until it has returned. `rayon::current_num_threads()` is the size of the pool,
    /// also where `n` is less. If the hive has fewer than `n` bees it grows first; bees beyond the pool's size could not help, and take no part.
    ///
    /// ```
    /// use rayon::prelude::*;
    ///
    /// let hive = hive::Hive::builder().bees(2).host_rayon(true).build()?;
    /// let sum = hive.rayon(2, || (0..1_000).into_par_iter().sum::<u64>());
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Waiting
    /// A bee that finds no job polls for the [`spin`](crate::pool::config::Builder::spin) time, as at a barrier, yields its core a few times, and then naps for longer and longer, up to
    /// a millisecond, between its looks. So a long sequential part of `work` leaves the other cores nearly alone; the first jobs after it may be that long without help.
    /// Between naps nobody tells a bee of a job; the end of `work` does wake it. In a [`keep_spinning`](Self::hot) section nobody naps.
    ///
    /// Bees that poll take their part of an iterator at once, as rayon divides it, also where it is over so soon that dividing it does not pay: then give `n` as 1, or the iterator
    /// a `with_min_len`.
    ///
    /// # Other threads
    /// Only the thread that built the hive is a worker. From another one `work` is handed to a bee, while the caller waits: at least two bees then, and one worker fewer. Where
    /// that cannot be, in a pool of one or where the region is nested, `work` runs on the calling thread, and rayon's calls in it go where they go from that thread.
    ///
    /// `rayon::broadcast` waits for every worker there is: it ends in a call by the builder's thread with as many bees as the pool has, and in no other.
    ///
    /// # Nesting
    /// Inside a region or a task on a bee, this only runs `work`: see [where rayon's calls go](crate::adapters::rayon#where-rayons-calls-go). Regions inside `work` are teams of one.
    ///
    /// # Panics
    /// If `work` does, with that panic, after the bees have left. If the hive was not built with [`host_rayon`](crate::pool::config::Builder::host_rayon), if `n` is 0, if the system makes no
    /// more threads, or in a forked child.
    #[track_caller]
    pub fn rayon<R: Send>(&self, n: usize, work: impl FnOnce() -> R + Send) -> R {
        let Some(RayonPool { pool }) = &self.rayon_pool else {
            panic!("this hive has no rayon on its threads; build it with Hive::builder().host_rayon(true)")
        };
        let is_rayon_worker = pool.current_thread_index().is_some();
        // One who is no worker needs a bee who is.
        let bees = if is_rayon_worker || n == 0 { n } else { n.max(2) };
        let (work, result, call) =
            (Mutex::new(Some(work)), Mutex::new(None), RayonCall::new(self.shared.team.policy()));
        self.spmd(bees.min(pool.current_num_threads()), |bee| {
            if !bee.is_queen() {
                return call.run_jobs();
            }
            let _over = call.end_on_drop();
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            let work = work.unwrap_or_else(|| unreachable!("a region has one queen"));
            let value = if is_rayon_worker || bee.bees() == 1 { work() } else { pool.install(work) };
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        });
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.unwrap_or_else(|| unreachable!("the queen's part has ended without a panic"))
    }

    /// Has the bees, none of which has been hired yet, and the calling thread be rayon's workers.
    pub(crate) fn start_rayon_pool(&mut self) -> Result<(), BuildError> {
        let (pool, threads) =
            worker::build_pool(&self.shared.config).map_err(|cause| BuildError(BuildProblem::RayonPool(cause)))?;
        let pool = Arc::new(pool);
        for thread in threads {
            self.shared.thread_hosts.reserve(thread.index() as u32, worker::thread_host(thread, Arc::clone(&pool)));
        }
        self.rayon_pool = Some(RayonPool { pool });
        Ok(())
    }

    /// Gives up the handle's share in the pool; on a bee, which will not come to the end of its life before the hive has ended, the bee's as well.
    pub(crate) fn release_rayon_pool(&mut self) {
        let Some(RayonPool { pool }) = self.rayon_pool.take() else { return };
        if !self.shared.is_forked() {
            // Where there is no bee, the builder's thread is the only one who can run what it has spawned.
            while pool.current_thread_index() == Some(0) && pool.yield_now() == Some(rayon_core::Yield::Executed) {}
            worker::release_pool(&pool);
        }
    }
}
