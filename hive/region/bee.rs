//! [`Bee`], what the body of a region gets as its argument: the number of the bee that it runs as, and the ways to meet
//! the other bees.
//!
//! `Bee` is a public view of the protocol's `RegionContext`, which does the work. The collective operations, loops and
//! `ordered` add methods to it in their own files. [`UserBody`] turns a closure that takes a `Bee` into what `Team`
//! runs.

#![expect(unsafe_code, reason = "says that a bee's context is used by one thread only, for the compiler's messages")]

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use crate::protocol::region::body::RegionBody;
use crate::protocol::region::region_context::RegionContext;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::{nesting, split};
use crate::topology::pinning;
use crate::topology::place_assignment::Place;

/// The closure that a program has given to `spmd`, in the form in which a team runs it. If it is dropped while the
/// region's panic unwinds, a panic in its own drop is discarded.
///
/// `RUNS_ANYWHERE`: whether another bee may run a part of it in a bee's name, as in a loop.
pub(crate) struct UserBody<F, const RUNS_ANYWHERE: bool>(NoDoublePanic<F>);

/// The body of a region whose every bee runs its own part.
pub(crate) type ExactBody<F> = UserBody<F, false>;

/// The body of a loop.
pub(crate) type LoopBody<F> = UserBody<F, true>;

impl<F: Fn(&Bee<'_>) + Sync, const RUNS_ANYWHERE: bool> UserBody<F, RUNS_ANYWHERE> {
    /// Wraps the closure.
    #[inline(always)]
    pub(crate) fn new(body: F) -> Self {
        Self(NoDoublePanic::new(body))
    }
}

impl<F: Fn(&Bee<'_>) + Sync, const RUNS_ANYWHERE: bool> RegionBody for UserBody<F, RUNS_ANYWHERE> {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        RUNS_ANYWHERE
    }

    #[inline]
    /// Runs the closure as the bee of `context`, which `nesting` finds meanwhile.
    fn run(&self, context: &RegionContext<'_>) {
        nesting::within_region(context, || (*self.0)(&Bee::of(context)));
    }
}

/// One bee of a region's team. The body of a region learns from it which bee it runs as, and meets the other bees
/// through it.
///
/// The body gets a reference to a `Bee` on that bee's own thread and cannot send it to another thread. So it cannot be
/// used in the closures of a `join`, `scope` or `install` inside the region either, because these may run on other
/// threads. Take what they need, such as `bee.id()`, before.
///
/// A bee is in the floating-point mode of the region's caller. A body that changes the mode changes it back before it
/// ends or waits: see the page `docs/composition.md`.
///
/// ```compile_fail,E0277
/// hive::spmd(2, |bee| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| bee.barrier()); // `Bee` is not Sync
///     });
/// });
/// ```
///
/// ```
/// let x: Vec<f64> = (0..1000).map(f64::from).collect();
/// hive::spmd(4, |bee| {
///     let own = &x[bee.split(0..x.len())];
///     let sum = bee.all_reduce(own.iter().sum::<f64>(), |a, b| a + b); // every bee gets it
///     if bee.is_queen() {
///         println!("the mean of {} bees' parts is {}", bee.bees(), sum / x.len() as f64);
///     }
/// });
/// ```
pub struct Bee<'r> {
    pub(crate) context: OnOwnThread<'r>,
    _stays: StaysOnItsThread,
}

/// Keeps `Bee` from being shared with other threads. It has a name because the compiler's message shows it to whoever
/// uses a bee in a task: take what the task needs, such as `bee.id()`, before the task.
struct StaysOnItsThread(PhantomData<Cell<()>>);

/// The protocol's part of a [`Bee`], which alone has one.
pub(crate) struct OnOwnThread<'r>(&'r RegionContext<'r>);

// SAFETY: it is reached through a `Bee` only, and a `Bee` is not `Sync`. Programs cannot name the field, and no closure
// of this crate that captures `bee.context` alone goes to another thread. (The compiler would otherwise have a message
// for each of the five cells of a `RegionContext` that a task could reach, and none of them says what to do.)
unsafe impl Sync for OnOwnThread<'_> {}

impl<'r> Deref for OnOwnThread<'r> {
    type Target = RegionContext<'r>;

    #[inline(always)]
    fn deref(&self) -> &RegionContext<'r> {
        self.0
    }
}

impl<'r> Bee<'r> {
    /// The bee of that context, on its own thread.
    #[inline(always)]
    pub(crate) fn of(context: &'r RegionContext<'r>) -> Self {
        Self { context: OnOwnThread(context), _stays: StaysOnItsThread(PhantomData) }
    }
}

impl Bee<'_> {
    /// This bee's number, from 0 (the queen) to `bees() - 1`. Unique in the region.
    ///
    /// ```
    /// let names = hive::spmd_map(3, |bee| format!("part-{}.dat", bee.id()));
    /// assert_eq!(names, ["part-0.dat", "part-1.dat", "part-2.dat"]);
    /// ```
    #[inline]
    #[doc(alias("omp_get_thread_num", "thread_num", "rank", "current_thread_index"))]
    pub fn id(&self) -> usize {
        self.context.id as usize
    }

    /// The number of bees of the team, including the queen.
    ///
    /// This is the number that the region was asked to have, except in a nested region, where it may be 1 (see
    /// [`Hive::spmd`](crate::Hive::spmd)).
    ///
    /// ```
    /// // Each bee takes every n-th row, whatever n is.
    /// let rows = hive::spmd_map(3, |bee| (bee.id()..10).step_by(bee.bees()).count());
    /// assert_eq!(rows.iter().sum::<usize>(), 10);
    /// ```
    #[inline]
    #[doc(alias("num_threads", "omp_get_num_threads", "current_num_threads"))]
    pub fn bees(&self) -> usize {
        self.context.bees as usize
    }

    /// Whether this is bee 0, which runs on the thread that started the region.
    ///
    /// ```
    /// hive::spmd(4, |bee| {
    ///     for step in 0..3 {
    ///         bee.barrier();
    ///         if bee.is_queen() {
    ///             println!("step {step}");
    ///         }
    ///     }
    /// });
    /// ```
    #[inline]
    #[doc(alias("master", "masked", "omp master", "omp masked"))]
    pub fn is_queen(&self) -> bool {
        self.id() == 0
    }

    /// Waits until every bee of the team has arrived at this barrier. What any bee did before the barrier is visible to
    /// all bees after it.
    ///
    /// All bees must call it equally often. The protocol is in `docs/barrier.md`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let arrived = AtomicUsize::new(0);
    /// hive::spmd(4, |bee| {
    ///     arrived.fetch_add(1, Ordering::Relaxed);
    ///     bee.barrier();
    ///     assert_eq!(arrived.load(Ordering::Relaxed), bee.bees());
    /// });
    /// ```
    ///
    /// # Panics
    /// If the body has returned on another bee that has not arrived at this barrier, since this bee would otherwise
    /// wait for ever.
    ///
    /// If this is called in the work of a call such as [`single`](Self::single), which the other bees do not run, or in
    /// the body of a loop that is a region of its own, such as [`par_for`](crate::par_for), whose bees need not be
    /// there at the same time.
    ///
    /// If another bee has panicked, the barrier unwinds the body of this bee, without a panic message of its own. What
    /// the other bee did before its panic is visible to the destructors that run then.
    ///
    /// For this and all calls by which bees meet or share work, one rule holds: if it ends by a panic, the region has
    /// failed for all of its bees, whatever they catch. No bee passes another barrier of it, every further such call of
    /// this bee unwinds at once, and the region's caller gets a panic. `docs/composition.md` has the details.
    ///
    /// There is one case in which hive does not notice a missing barrier: in a team of several groups (see
    /// [`BarrierShape`](crate::BarrierShape)), if bees also keep each other from the barrier by other means, such as
    /// [`ordered`](Self::ordered). Such a region waits for ever. The page `docs/shape.md` has the details.
    ///
    /// # In destructors
    /// In a destructor that runs because the body of this bee is being unwound, the barrier can neither panic nor
    /// unwind, since two panics at once end the process. If it would have to, it returns at once without having met the
    /// other bees. The same holds for all other calls that wait for the team; where they return a value, it is made
    /// from this bee's own value alone. The region then panics at its end, even if the body catches the panic: see
    /// [`Hive::spmd`](crate::Hive::spmd).
    ///
    /// In a region that a destructor starts, barriers unwind as everywhere else: the body of that region ends inside
    /// that destructor. There is one exception, in which hive cannot tell the two cases apart: a barrier in a
    /// destructor that runs because the queen's body in such a region is being unwound aborts the process.
    #[inline]
    #[track_caller]
    #[doc(alias("omp barrier", "sync"))]
    pub fn barrier(&self) {
        self.context.barrier();
    }

    /// This bee's block of `range`. The blocks of the bees are contiguous, in the order of the bees' numbers, and their
    /// lengths differ by at most one.
    ///
    /// ```
    /// let squares = hive::spmd_map(3, |bee| bee.split(0..10).map(|i| i * i).sum::<usize>());
    /// assert_eq!(squares.iter().sum::<usize>(), 285);
    /// ```
    #[inline]
    #[doc(alias("omp for", "chunk", "static"))]
    pub fn split(&self, range: Range<usize>) -> Range<usize> {
        split::block(range, self.id(), self.bees())
    }

    /// The place that hive has bound this bee's thread to; None if it is not bound at this moment.
    ///
    /// A worker that is bound by default may run a short region unbound, or go on where another bee waits for it if it
    /// has lost its CPU, on the NUMA node of its place: see `docs/unbound-sleep.md`. Where the program has chosen the
    /// places, by [`Builder::pin`](crate::Builder::pin) or the like, workers are always bound. No system call is made:
    /// if somebody else changes the thread's mask, such as `taskset`, this does not know of it;
    /// [`Hive::report`](crate::Hive::report) asks the system and says so.
    ///
    /// ```
    /// hive::spmd(2, |bee| match bee.place() {
    ///     Some(place) => println!("bee {} is bound to {place}", bee.id()),
    ///     None => println!("bee {} is where the system puts it", bee.id()),
    /// });
    /// ```
    #[doc(alias("affinity", "omp_get_place_num"))]
    pub fn place(&self) -> Option<Place> {
        if nesting::is_unbound_worker() { None } else { pinning::bound_place() }
    }

    /// Runs `body` with the CPU affinity that the thread had before hive bound it, for everything that must not inherit
    /// the mask of a pinned bee: threads that `body` spawns, processes, the pools of other libraries.
    ///
    /// A thread inherits the affinity of the thread that spawns it. Threads spawned on a bee that is bound to one core
    /// would, without this, all share that core with the bee. On a bee that is not bound, this only runs `body`.
    /// Blocked signals are inherited as well, and this does not change them: see [`Hive`](crate::Hive).
    ///
    /// ```
    /// hive::spmd(2, |bee| {
    ///     let helper = bee.unpinned(|| std::thread::spawn(|| 6 * 7));
    ///     assert_eq!(helper.join().unwrap(), 42);
    /// });
    /// ```
    pub fn unpinned<R>(&self, body: impl FnOnce() -> R) -> R {
        // This fails only if CPUs have been taken from the process in the meantime. The bee's own mask is then as good
        // as any other.
        let _unpinned = pinning::unbind();
        body()
    }
}

impl fmt::Debug for Bee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bee {{ id: {}, count: {} }}", self.id(), self.bees())
    }
}
