//! What a region's body sees: its bee of the team.

use std::fmt;
use std::ops::Range;

use crate::protocol::region::body::RegionBody;
use crate::protocol::region::region_context::RegionContext;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::{nesting, split};
use crate::topology::pinning;
use crate::topology::place_assignment::Place;

/// A region's body, as the team runs it. Dropped quietly when the region panics.
pub(crate) struct UserBody<F>(NoDoublePanic<F>);

impl<F: Fn(&Bee<'_>) + Sync> UserBody<F> {
    #[inline(always)]
    pub(crate) fn new(body: F) -> Self {
        Self(NoDoublePanic::new(body))
    }
}

impl<F: Fn(&Bee<'_>) + Sync> RegionBody for UserBody<F> {
    #[inline]
    fn run(&self, context: &RegionContext<'_>) {
        nesting::within_region(context, || (*self.0)(&Bee { context }));
    }
}

/// One bee of a region's team: what the body learns who it is from, and meets the others through.
///
/// A region's body gets a reference to one, on the bee's own thread, and cannot send it elsewhere. So it cannot be used in the closures of a `join`, `scope` or `install` inside the region either,
/// which may run on other threads: take what they need, such as `bee.id()`, before.
///
/// ```compile_fail,E0277
/// hive::spmd(2, |bee| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| bee.barrier()); // `Bee` is not Sync
///     });
/// });
/// ```
pub struct Bee<'r> {
    pub(crate) context: &'r RegionContext<'r>,
}

impl Bee<'_> {
    /// This bee's number, from 0 (the queen) to `count() - 1`. No unit; unique in the region.
    #[inline]
    pub fn id(&self) -> usize {
        self.context.id() as usize
    }

    /// The number of bees of the team, the queen among them.
    ///
    /// It is the number that the region was asked to have, except in a nested region, where it is 1 (see
    /// [`Hive::spmd`](crate::pool::handle::Hive::spmd)).
    #[inline]
    pub fn bees(&self) -> usize {
        self.context.bees() as usize
    }

    /// Whether this is bee 0, the one on the thread that started the region.
    #[inline]
    pub fn is_queen(&self) -> bool {
        self.id() == 0
    }

    /// Waits until every bee of the team has come to this barrier. What any bee did before it is then visible to all.
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
    /// If another bee's part has ended without coming to this barrier: that would otherwise be a wait for ever. When another
    /// bee has panicked, the barrier ends this part by unwinding, without a report of its own; what that bee did before is visible to
    /// the destructors that run then. Who catches either may go on in its body, but passes no barrier of this region any more.
    ///
    /// In a team of several groups (see [`BarrierShape`](crate::protocol::region::shape::BarrierShape)) one case of a barrier left out is not seen: bees keep each other from it by other means as
    /// well, such as [`ordered`](Self::ordered). That region stands still. The page `docs/shape.md` has the details.
    ///
    /// # In destructors
    /// In a destructor that runs because this part is being unwound it can do neither, since two panics at once end the process: it returns at once, without having met the others. So do all other
    /// calls that wait for the team: where they return something, it is of this bee alone. The region does not return then, whoever catches what: see [`Hive::spmd`](crate::pool::handle::Hive::spmd).
    ///
    /// In a region that a destructor runs, barriers unwind as anywhere else: the part ends in that destructor. Only in a destructor that runs because such a part of the queen is being unwound they
    /// cannot know, and abort.
    #[inline]
    #[track_caller]
    pub fn barrier(&self) {
        self.context.barrier();
    }

    /// This bee's block of `range`: contiguous, in order of the bees' numbers, of lengths that differ by at most one.
    ///
    /// ```
    /// let squares = hive::spmd_map(3, |bee| bee.split(0..10).map(|i| i * i).sum::<usize>());
    /// assert_eq!(squares.iter().sum::<usize>(), 285);
    /// ```
    #[inline]
    pub fn split(&self, range: Range<usize>) -> Range<usize> {
        split::block(range, self.id(), self.bees())
    }

    /// Where this bee's thread is bound to; None where it is not bound.
    pub fn place(&self) -> Option<Place> {
        pinning::bound_place()
    }

    /// Runs `body` with the CPU affinity that the hive's builder had, for whatever must not inherit the mask of a pinned
    /// bee: threads that `body` spawns, processes, other libraries' pools.
    ///
    /// A thread inherits the affinity of the one that spawns it. Spawned on a bee that is bound to one core, without this,
    /// all of them would share that core with the bee. On a bee that is not bound this only runs `body`. (Blocked
    /// signals are inherited as well, and stay so: see [`Hive`](crate::pool::handle::Hive).)
    ///
    /// ```
    /// hive::spmd(2, |bee| {
    ///     let helper = bee.unpinned(|| std::thread::spawn(|| 6 * 7));
    ///     assert_eq!(helper.join().unwrap(), 42);
    /// });
    /// ```
    pub fn unpinned<R>(&self, body: impl FnOnce() -> R) -> R {
        // Only CPUs that were taken from the process meanwhile make this fail, and then the bee's own mask is as good as any.
        let _unpinned = pinning::unbind();
        body()
    }
}

impl fmt::Debug for Bee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bee {{ id: {}, count: {} }}", self.id(), self.bees())
    }
}
