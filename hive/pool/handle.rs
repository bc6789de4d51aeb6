//! [`Hive`], the handle by which a program holds a hive.
//!
//! The methods for waiting and reports are here; those that run regions are in `run_parts.rs`, those that change the
//! hive's size in `resizing.rs`, and those that build a hive in `build.rs`. Loops, reductions, memory and tasks add
//! methods to `Hive` in their own folders.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::observe::stats::{Counts, Stats};
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
        Stats { per_bee: self.shared.team.counters().map(Counts::of).collect() }
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
