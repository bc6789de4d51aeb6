//! rayon as a guest: its worker threads are the bees of a hive, so that parallel iterators and regions share one set of
//! threads.
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
//! # Ok::<(), hive::Error>(())
//! ```
//!
//! Going from a region to a parallel iterator and back costs the start of a region. No second pool has to be woken, and
//! no CPU has two threads that compete for it.
//!
//! # Which thread is which rayon worker
//! A hive that is built with [`host_rayon`](crate::pool::builder::Builder::host_rayon) has a rayon pool with one rayon
//! worker for each bee that the hive starts with: bee 1 is rayon's worker 1, and so on. rayon's worker 0 is the thread
//! that builds the hive. It remains worker 0 as long as it lives, because rayon cannot undo that; so a thread can build
//! only one such hive. Bees that the hive starts later, beyond the pool's size, are not rayon workers.
//!
//! rayon's workers do not sleep in rayon's own way, except where one waits for a job that another has taken. At all
//! other times they are in the hive's main loop or in a region, and their number, places, pinning and waiting are the
//! hive's affair.
//!
//! # Where rayon's calls go
//! - In the closure that is given to [`Hive::rayon`]: to all bees of its region.
//! - In the body of a region, in a task of the hive, and on the builder's thread outside of these: to the pool as well,
//!   but no other bee looks for jobs. `join`, `scope` and parallel iterators then run on the calling thread; another
//!   thread that waits inside rayon may help. Do not wait for other threads there: `broadcast` would not end, nor would
//!   a wait for something that was given to `spawn`.
//! - On any other thread: to rayon's global pool, which has threads of its own.
//!
//! What is given to `rayon::spawn` runs when a rayon worker looks for jobs: in a later [`Hive::rayon`], or when the
//! hive is dropped, which waits for it.
//!
//! How the bees' threads become rayon's workers is described in `docs/adapters.md`; `call.rs` has what the bees do in
//! `Hive::rayon`.

pub(crate) mod call;

use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;

use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use crate::adapters::rayon::call::RayonCall;
use crate::on_drop::on_drop;
use crate::pool::builder::Builder;
use crate::pool::error::{Error, ErrorKind};
use crate::pool::handle::Hive;
use crate::pool::handlers::Handlers;
use crate::pool::thread_host::{Guest, ThreadHost, ThreadHosts, WorkerMain};
use crate::sync::Mutex;

impl Hive {
    /// Runs `work` with rayon on `n` bees of this hive, including the calling thread, and returns its result.
    ///
    /// The call is a [region](Self::spmd): the caller runs `work`, and the other bees run rayon's jobs until `work` has
    /// returned. `rayon::current_num_threads()` is the size of the pool, even if `n` is smaller. If the hive has fewer
    /// than `n` bees it grows first. Bees beyond the pool's size cannot help and take no part.
    ///
    /// ```
    /// use rayon::prelude::*;
    ///
    /// let hive = hive::Hive::builder().bees(2).host_rayon(true).build()?;
    /// let sum = hive.rayon(2, || (0..1_000).into_par_iter().sum::<u64>());
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Waiting
    /// A bee that finds no job polls for the [`spin`](crate::pool::builder::Builder::spin) time, as at a barrier,
    /// yields its core a few times, and then sleeps between its attempts, for longer and longer times up to a
    /// millisecond. So a long sequential part of `work` leaves the other cores nearly idle, and the first jobs after it
    /// may be without help for up to a millisecond. A new job does not wake a sleeping bee; the end of `work` does. In
    /// a [`keep_spinning`](Self::keep_spinning) section no bee sleeps.
    ///
    /// Bees that poll take their part of an iterator at once, as rayon divides it, even if the iterator is so short
    /// that dividing it does not pay. In that case pass 1 for `n`, or give the iterator a `with_min_len`.
    ///
    /// # Other threads
    /// Only the thread that built the hive is a rayon worker without being a bee's thread. If another thread calls,
    /// `work` is handed to a bee, and the caller waits: the region then has at least two bees, one of which, the
    /// caller, runs no jobs. Where that is not possible (in a pool of one, or in a nested region) `work` runs on the
    /// calling thread, and rayon's calls in it go where they go from that thread.
    ///
    /// `rayon::broadcast` waits for every worker of the pool. It ends only in a call by the builder's thread with as
    /// many bees as the pool has.
    ///
    /// # Nesting
    /// Inside a region or a task on a bee, this only runs `work`: see
    /// [where rayon's calls go](crate::adapters::rayon#where-rayons-calls-go). Regions inside `work` are teams of one.
    ///
    /// # Panics
    /// With the panic of `work`, if it panics, after the bees have left. Also if the hive was not built with
    /// [`host_rayon`](crate::pool::builder::Builder::host_rayon), if `n` is 0, if the operating system makes no more
    /// threads, or in a forked child.
    #[track_caller]
    pub fn rayon<R: Send>(&self, n: usize, work: impl FnOnce() -> R + Send) -> R {
        let guest = self.guest.as_deref().map(Guest::as_any);
        let Some(pool) = guest.and_then(<dyn Any>::downcast_ref::<Arc<ThreadPool>>) else {
            panic!("this hive has no rayon on its threads; build it with Hive::builder().host_rayon(true)")
        };
        let is_rayon_worker = pool.current_thread_index().is_some();
        // A caller that is not a rayon worker needs at least one bee that is one.
        let bees = if is_rayon_worker || n == 0 { n } else { n.max(2) };
        // The body of a region is called by all bees, through a shared reference; the locks hand `work` to the queen
        // and its result back. No thread ever waits for them.
        let (work, result, call) = (Mutex::new(Some(work)), Mutex::new(None), RayonCall::default());
        self.spmd(bees.min(pool.current_num_threads()), |bee| {
            if !bee.is_queen() {
                return call.run_jobs(self.shared.team.policy());
            }
            // Declared before the closure runs, so that the bees are released even if it panics.
            let _over = call.end_on_drop();
            let work = work.lock().take();
            let work = work.unwrap_or_else(|| unreachable!("a region has one queen"));
            let value = if is_rayon_worker || bee.bees() == 1 { work() } else { pool.install(work) };
            *result.lock() = Some(value);
        });
        let result = result.lock().take();
        result.unwrap_or_else(|| unreachable!("the queen's part has ended without a panic"))
    }
}

impl Builder {
    /// Whether the hive's bees are also the workers of a rayon pool, so that [`Hive::rayon`] can run parallel iterators
    /// on them. Default: false.
    ///
    /// The pool has as many workers as the hive has bees when it is built. The thread that calls [`build`](Self::build)
    /// remains one of the pool's workers for good: see [`adapters::rayon`](crate::adapters::rayon).
    ///
    /// ```
    /// use rayon::prelude::*;
    ///
    /// let hive = hive::Hive::builder().bees(2).host_rayon(true).build()?;
    /// let mut x = vec![4.0_f64; 1000];
    /// hive.rayon(2, || x.par_iter_mut().for_each(|x| *x = x.sqrt()));
    /// assert_eq!(x, [2.0; 1000]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn host_rayon(mut self, host_rayon: bool) -> Self {
        self.guest = host_rayon.then_some(start_pool);
        self
    }
}

/// Makes the calling thread rayon's worker 0, and arranges that the threads of the hive's bees become its other
/// workers. No bee's thread exists yet.
fn start_pool(bees: u32, handlers: &Handlers, hosts: &ThreadHosts) -> Result<Box<dyn Guest>, Error> {
    let mut threads = Vec::new();
    let handlers = handlers.clone();
    let builder = ThreadPoolBuilder::new()
        .num_threads(bees as usize)
        .use_current_thread()
        .start_handler(run_bee)
        // A panic in a job that no caller waits for goes to the hive's panic handler. If there is none, the process
        // ends, as it does with rayon alone.
        .panic_handler(move |panic| handlers.catch_panic(|| resume_unwind(panic)))
        .spawn_handler(|thread| {
            threads.push(thread);
            Ok(())
        });
    let pool = builder.build().map_err(|cause| {
        let message = format!(
            "rayon's workers cannot be this hive's bees: {cause}; a thread that is rayon's worker, or has built a hive \
             with host_rayon, is that pool's for good, so build this one on a thread of its own, or without host_rayon"
        );
        Error::new(ErrorKind::Settings, message).caused_by(cause)
    })?;
    let pool = Arc::new(pool);
    for thread in threads {
        hosts.reserve(thread.index() as u32, thread_host(thread, Arc::clone(&pool)));
    }
    Ok(Box::new(pool))
}

/// The rayon pool of a hive. The hive's handle owns a share in it, and so does each bee that is a rayon worker, as long
/// as the bee's thread runs. The pool ends when the last share is dropped.
impl Guest for Arc<ThreadPool> {
    /// Gives up the handle's share in the pool. On one of the hive's own bees, that bee's share is given up as well:
    /// the bee is in the middle of the task that drops the hive, nobody waits for it, and with its share the pool and
    /// the threads of the other workers would stay alive until that task has ended.
    fn leave(self: Box<Self>, is_forked: bool) {
        let pool = *self;
        if !is_forked {
            // The builder's thread, worker 0, runs the jobs that are left: in a pool of one, no other thread can.
            while pool.current_thread_index() == Some(0) && pool.yield_now() == Some(rayon_core::Yield::Executed) {}
            release_pool(&pool);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

// How a bee's thread becomes a rayon worker. rayon's main function for a worker thread calls the pool's start handler
// once the thread is a worker in every respect. Here that handler is the bee's whole main function
// (`Shared::run_worker`). When that returns, because the hive ends, the thread goes on to rayon's own loop, where it
// runs the jobs that are left until the pool ends. `docs/adapters.md` ("rayon as a guest") has the steps.

thread_local! {
    /// The main function of the bee whose thread this is. `thread_host` sets it; the start handler takes it.
    static WORKER_MAIN: Cell<Option<WorkerMain>> = const { Cell::new(None) };
    /// The share in the pool that belongs to the bee on this thread.
    static HELD_POOL: Cell<Option<Arc<ThreadPool>>> = const { Cell::new(None) };
}

/// A function that runs a bee's main function on the calling thread, as the rayon worker `thread`, with a share in
/// `pool`.
fn thread_host(thread: ThreadBuilder, pool: Arc<ThreadPool>) -> ThreadHost {
    Box::new(move |worker_main| {
        WORKER_MAIN.set(Some(worker_main));
        HELD_POOL.set(Some(pool));
        thread.run();
    })
}

/// The pool's start handler: runs the bee's main function on the worker's thread.
fn run_bee(index: usize) {
    // Gives up this bee's share in the pool at the end, also if the main function unwinds. rayon ends the worker
    // threads only when the last share is gone.
    let _release_pool = on_drop(|| drop(HELD_POOL.take()));
    assert_eq!(rayon_core::current_thread_index(), Some(index), "rayon calls its start handler on its worker");
    let worker_main = WORKER_MAIN.take().unwrap_or_else(|| unreachable!("worker {index} has a bee"));
    worker_main();
}

/// Gives up the calling thread's share in `pool`, if it has one.
fn release_pool(pool: &Arc<ThreadPool>) {
    // The thread may be ending, and its thread-local values gone. Then it has no share any more.
    let _ = HELD_POOL.try_with(|held| held.set(held.take().filter(|held| !Arc::ptr_eq(held, pool))));
}
