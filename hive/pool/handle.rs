//! [`Hive`], the handle by which a program holds a hive.
//!
//! The methods for sizes, waiting and reports are here and pass on to `Shared`; those that run regions are in
//! `run_parts.rs`, and those that build a hive in `build.rs`. Loops, reductions, memory and tasks add methods to `Hive`
//! in their own folders.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{fmt, io};

use crate::observe::stats::Stats;
use crate::pool::error::Error;
use crate::pool::report::Report;
use crate::pool::shared::Shared;
use crate::pool::thread_host::Guest;
use crate::protocol::Team;
use crate::region::bee::{Bee, ExactBody};
use crate::region::nesting;
use crate::topology::pinning::AffinityGuard;
use crate::topology::place_assignment::Place;

/// A team of threads for numeric code: the queen, which is the calling thread, and workers, which run regions with her.
///
/// Most programs use the global hive, through the free functions of this crate: [`spmd`](crate::spmd),
/// [`resize`](crate::resize) and so on. A hive of its own is for a part of a program that needs its own size, places or
/// way of waiting.
///
/// ```
/// let solver = hive::Hive::new(2)?;
/// let x = vec![0.5; 4096];
/// let squares = solver.spmd_map(2, |bee| x[bee.split(0..x.len())].iter().map(|x| x * x).sum::<f64>());
/// assert_eq!(squares.iter().sum::<f64>(), 1024.0);
/// # Ok::<(), hive::Error>(())
/// ```
///
/// # Waiting
/// A worker that waits for a region polls for the [`spin`](crate::Builder::spin) time (200 us by default), yields its
/// core a few times if that pays, and then sleeps until a region needs it. The queen at the end of a region and bees at
/// a barrier wait in the same way. While more bees are awake in the process than it has CPUs, or in the region, nobody
/// polls.
///
/// # Floating-point mode
/// Regions and loops run in their caller's mode (rounding, flushing small numbers to zero, exceptions that trap) on
/// every bee. Tasks, and the bodies of `join`, `install` and `scope`, run in the mode of the thread that has built the
/// hive. See the page `docs/composition.md`.
///
/// # Signals
/// Workers block all signals, so that signal handlers run on the program's own threads. There are two exceptions: the
/// signals of faults, and SIGPROF and SIGVTALRM, by which profilers interrupt the threads that use CPU time. For these
/// a worker keeps the mask of the thread that makes it. A thread spawned from a worker inherits the worker's signal
/// mask.
///
/// A signal handler must not call any function of hive. None of them is async-signal-safe, and most take a lock that
/// the interrupted thread may hold.
///
/// # Fork
/// A child process made by `fork` has none of the workers. In the child, starting a region of a hive that was built
/// before the fork is an error; the child may build hives of its own, and the free functions act on a global hive of
/// its own. A child that was forked inside a region or a task may do so, too, but must leave from there, by `exec` or
/// `_exit`: where it returns from the region or task, or waits for other bees, it is aborted. While a thread forks,
/// other threads must not be starting or ending threads, because the standard library does not support that. What a
/// child may do, and why, is in `docs/fork.md`.
///
/// # The end of a thread
/// Everything also works in the destructor of a thread-local and in an `atexit` handler, on any thread, even if hive's
/// own thread-locals have been destroyed. The only exception is that [`pin_queen`](crate::Builder::pin_queen) may bind
/// no thread there.
///
/// # Drop
/// Dropping a hive lets its workers run what is queued for them, ends them, and waits for their threads. It cannot
/// happen while a region of several bees runs, because the region borrows the hive.
///
/// If one of the hive's own workers drops it, in a task or a handler, that worker does not wait for the others, since
/// these may be waiting for that very task. The workers run what is queued and end by themselves.
///
/// If a bee of another hive drops it, and this hive's bees may be waiting for that bee, directly or over further hives,
/// the drop does not wait, since nobody could go on. For instance, if two hives are each dropped by a task of the
/// other, both of them end. The workers then run what is queued and end by themselves, and the last of them writes the
/// [timeline](crate::Builder::trace). Hive cannot see waits by other means, such as a channel or a thread that a task
/// joins.
#[doc(alias("ThreadPool", "thread pool", "team"))]
pub struct Hive {
    pub(crate) shared: Arc<Shared>,
    /// Keeps the thread that built the hive bound to the place of bee 0, with `pin_queen(true)`. None: that thread is
    /// not bound by this hive.
    pub(crate) _queen_affinity: Option<AffinityGuard>,
    /// The library that is a guest on the hive's threads: rayon, with `host_rayon(true)`.
    pub(crate) guest: Option<Box<dyn Guest>>,
}

impl Hive {
    /// The hive that the calling thread works for: as a bee of a region or of tasks, or as the leader that acts for one
    /// hive of a set (`region/nesting.rs`). None if it does none of these, or if the innermost of them is in a task
    /// pool; if the hive's handle has been dropped; and in a forked child, whose process has none of that hive's
    /// threads. The result is a handle that owns nothing: it stands for a handle that somebody else holds.
    ///
    /// # Safety
    /// The result must not be used outside of that region or task.
    #[expect(unsafe_code, reason = "finds the hive by the address that its team keeps")]
    pub(crate) unsafe fn of_calling_thread() -> Option<ManuallyDrop<Self>> {
        // In a forked child the hives of the parent process are of no use; what such a thread is inside of further out
        // belongs to the parent as well. A task pool is no hive to those who run tasks in it.
        let usable = |team: &Team, _| (!team.policy().is_forked() && !team.is_task_pool()).then(|| team.owner());
        // A team without an owner, whose address is null, is there in tests only.
        let owner = nesting::with_innermost(usable).flatten().filter(|owner| !owner.is_null())?;
        // SAFETY: `Shared::new` has given its own address to its team, as `Arc::as_ptr` would. The thread is inside of
        // a region or a task of this hive, or acts for it, for as long as the result lives. A region, and who acts for
        // a hive, borrow it; a bee that runs tasks holds a reference to the `Shared` meanwhile. This `Arc` counts as no
        // reference of its own, and is never dropped.
        let shared = unsafe { Arc::from_raw(owner.cast::<Shared>()) };
        let hive = ManuallyDrop::new(Self { shared, _queen_affinity: None, guest: None });
        // Relaxed: a hint, as the field's documentation says.
        (!hive.shared.has_ended.load(Ordering::Relaxed)).then_some(hive)
    }

    /// Changes the size of the hive to `bees` bees, including the queen. May be called by any thread at any time, and
    /// does not wait for a region to end or for a bee to finish its work.
    ///
    /// Shrinking makes workers surplus. A surplus worker parks on its semaphore as soon as it has nothing left to run,
    /// and costs nothing from then on; a worker that sleeps is parked without being woken, unless a region waits for
    /// it. [`wait_until_parked`](Self::wait_until_parked) waits for them. Growing brings parked workers back, and keeps
    /// surplus workers that have not parked yet. Called inside a region of this hive, it takes effect when the region
    /// ends. A region that asks for more bees than there are grows the hive again. So where one thread shrinks the hive
    /// while another runs regions, the other takes [`spmd_all`](Self::spmd_all), which never grows the hive. If it asks
    /// for a size, it does so anew before each region, and may still undo a resize that comes in between. A loop
    /// ([`par_for`](Self::par_for) and its siblings) runs on the bees that there are when it is called. If the hive is
    /// made smaller while it waits for its turn, it does not grow it again: the surplus bees run their parts first, and
    /// then park. Only a loop over a [`Plan`](crate::memory::plan::Plan) asks for a size, as a region does.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(1)?;
    /// hive.wait_until_parked();
    /// assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `bees` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child.
    /// The size is then the same as before.
    pub fn resize(&self, bees: usize) -> Result<(), Error> {
        self.shared.resize(bees)
    }

    /// Waits until no surplus worker is on a core, that is, until
    /// [`bees_not_yet_tucked_in`](Self::bees_not_yet_tucked_in) is 0. The cores are then free for other programs. (If
    /// another thread has called a loop before the hive was made smaller, and it starts only now, the surplus workers
    /// take part in it, and park again.)
    ///
    /// Inside a region of this hive it returns at once. Inside a region or a task of any hive, it does not wait for
    /// surplus workers that are in the middle of a task or of a region: these may be waiting for the caller, or be the
    /// caller. If another thread is this hive's queen at that time, the workers of the last region's team count as
    /// being inside that region still.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(1)?;
    /// hive.wait_until_parked(); // three cores are free for a library that has threads of its own
    /// assert_eq!(hive.bees_not_yet_tucked_in(), 0);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn wait_until_parked(&self) {
        self.shared.wait_until_parked();
    }

    /// Keeps all bees polling while `section` runs, however long they have nothing to do, so that each region in it
    /// starts as fast as the hardware allows. Afterwards they wait as usual. This is for the steps of a simulation with
    /// gaps in between, or for one token of an inference.
    ///
    /// Bees that sleep are woken first. Even in such a section, nobody polls while more bees are awake in the process
    /// than it has CPUs. Sections may overlap and nest.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let steps = hive.keep_spinning(|| {
    ///     (0..3).map(|step| {
    ///         std::thread::sleep(std::time::Duration::from_millis(1)); // output, a graphics card, ...
    ///         hive.spmd_map(2, |bee| step * bee.id()).into_iter().sum::<usize>()
    ///     }).collect::<Vec<_>>()
    /// });
    /// assert_eq!(steps, [0, 1, 2]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn keep_spinning<R>(&self, section: impl FnOnce() -> R) -> R {
        let _spin_section = self.shared.team.policy().keep_spinning();
        // An empty region wakes the bees. If no region can start, the regions in `section` report that.
        let _ = self.shared.spmd(self.bees(), &mut ExactBody::new(|_: &Bee<'_>| ()));
        section()
    }

    /// Sends bees that wait for a region to sleep at once, instead of after their polling time: for a program that
    /// knows that it will be busy with something else for a while. The next region or task wakes them as usual. Never
    /// waits.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// hive.spmd(2, |_| ());
    /// hive.stop_spinning(); // the next step writes to the disk
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn stop_spinning(&self) {
        self.shared.team.policy().stop_spinning();
    }

    /// The number of bees, including the queen but not the surplus workers.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// hive.spmd(3, |_| ()); // grows the hive
    /// assert_eq!(hive.bees(), 3);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn bees(&self) -> usize {
        self.shared.team.bees() as usize
    }

    /// The number of bees that the hive may grow to, including the queen.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).max_bees(8).build()?;
    /// assert_eq!(hive.spmd_map(64.min(hive.max_bees()), |bee| bee.id()), [0, 1, 2, 3, 4, 5, 6, 7]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn max_bees(&self) -> usize {
        self.shared.config.max_bees as usize
    }

    /// The number of surplus workers that are still on a core. It is never too low, so 0 means that their cores are
    /// free. While workers are being resized or woken, it may be one or two too high for a moment.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(1)?;
    /// while hive.bees_not_yet_tucked_in() > 0 {
    ///     std::thread::yield_now(); // or work that needs one core
    /// }
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn bees_not_yet_tucked_in(&self) -> usize {
        self.shared.team.pending_parks() as usize
    }

    /// The place of each bee, in the order of the bees' numbers. None: the bee is not bound. The place of bee 0 is used
    /// only with [`pin_queen`](crate::Builder::pin_queen). A worker may be off its place while it sleeps and runs short
    /// regions: [`Bee::place`](crate::Bee::place) says what holds at the moment.
    ///
    /// ```
    /// let places = hive::Hive::new(2)?.places();
    /// let nodes: std::collections::BTreeSet<_> = places.iter().flatten().filter_map(|place| place.node()).collect();
    /// println!("{} bees on {} NUMA nodes", places.len(), nodes.len());
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn places(&self) -> Vec<Option<Place>> {
        (0..self.bees()).map(|bee| self.shared.place_map.place_of(bee).cloned()).collect()
    }

    /// What the bees have done so far: regions, tasks, steals, sleeps. Each bee counts for itself, at all times, and
    /// may go on counting while this function reads.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// hive.scope(|scope| (0..100).for_each(|_| scope.spawn(|_| ())));
    /// assert_eq!(hive.stats().total().tasks, 100);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Writes the timeline of a traced hive (see [`Builder::trace`](crate::Builder::trace)) up to this moment, and
    /// returns the file's name. The whole timeline is written again when the hive is dropped or the process ends.
    ///
    /// May be called at any time, by any thread. The bees go on meanwhile; in the file, everything that they are in the
    /// middle of ends at the moment of writing.
    ///
    /// ```
    /// let error = hive::Hive::new(1)?.write_trace().unwrap_err();
    /// assert!(error.to_string().contains("this hive is not traced"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the hive is not traced, if the file cannot be written, or in a forked child.
    pub fn write_trace(&self) -> io::Result<PathBuf> {
        self.shared.write_trace()
    }

    /// The settings that are in effect: bees, places, mask, quota, spin time, how the machine was read, and all
    /// warnings. Print it.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).spin(std::time::Duration::MAX).build()?;
    /// println!("{}", hive.report()); // at the head of the program's log
    /// assert!(hive.report().to_string().contains("polls without end"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn report(&self) -> Report {
        Report::of(&self.shared)
    }
}

impl Drop for Hive {
    fn drop(&mut self) {
        // The guest leaves while the workers still run.
        if let Some(guest) = self.guest.take() {
            guest.leave(self.shared.is_forked());
        }
        self.shared.shut_down();
    }
}

impl fmt::Debug for Hive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hive")
            .field("bees", &self.bees())
            .field("max_bees", &self.max_bees())
            .field("bees_not_yet_tucked_in", &self.bees_not_yet_tucked_in())
            .finish()
    }
}
