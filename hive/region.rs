//! What a region's body sees: its member of the team.

use std::fmt;
use std::ops::Range;

use crate::crew::{Member, Part};
use crate::frame;
use crate::pin;
use crate::quiet::Quiet;
use crate::split;
use crate::topology::Place;

/// A region's body, as the crew runs it. Dropped quietly when the region panics.
pub(crate) struct Body<F>(Quiet<F>);

impl<F: Fn(&Bee<'_>) + Sync> Body<F> {
    #[inline(always)]
    pub(crate) fn new(body: F) -> Self {
        Self(Quiet::new(body))
    }
}

impl<F: Fn(&Bee<'_>) + Sync> Part for Body<F> {
    #[inline]
    fn run(&self, member: &Member<'_>) {
        frame::within(member, || (*self.0)(&Bee { member }));
    }
}

/// One member of a region's team: what the body learns who it is from, and meets the others through.
///
/// A region's body gets a reference to one, on the member's own thread, and cannot send it elsewhere. So it cannot be used in the closures of a `join`, `scope` or `install` inside the region either,
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
    pub(crate) member: &'r Member<'r>,
}

impl Bee<'_> {
    /// This member's number, from 0 (the queen) to `count() - 1`. No unit; unique in the region.
    #[inline]
    pub fn id(&self) -> usize {
        self.member.id() as usize
    }

    /// The number of members of the team, the queen among them.
    ///
    /// It is the number that the region was asked to have, except in a nested region, where it is 1 (see
    /// [`Hive::spmd`](crate::Hive::spmd)).
    #[inline]
    pub fn count(&self) -> usize {
        self.member.team() as usize
    }

    /// Whether this is member 0, the one on the thread that started the region.
    #[inline]
    pub fn is_queen(&self) -> bool {
        self.id() == 0
    }

    /// Waits until every member of the team has come to this barrier. What any member did before it is then visible to all.
    ///
    /// All members must call it equally often. The protocol is in `docs/muster.md`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let arrived = AtomicUsize::new(0);
    /// hive::spmd(4, |bee| {
    ///     arrived.fetch_add(1, Ordering::Relaxed);
    ///     bee.barrier();
    ///     assert_eq!(arrived.load(Ordering::Relaxed), bee.count());
    /// });
    /// ```
    ///
    /// # Panics
    /// If another member's part has ended without coming to this barrier: that would otherwise be a wait for ever. When another
    /// member has panicked, the barrier ends this part by unwinding, without a report of its own; what that member did before is visible to
    /// the destructors that run then. Who catches either may go on in its body, but passes no barrier of this region any more.
    ///
    /// In a team of several groups (see [`BarrierShape`](crate::BarrierShape)) one case of a barrier left out is not seen: members keep each other from it by other means as
    /// well, such as [`ordered`](Self::ordered). That region stands still. The page `docs/shape.md` has the details.
    ///
    /// # In destructors
    /// In a destructor that runs because this part is being unwound it can do neither, since two panics at once end the process: it returns at once, without having met the others. So do all other
    /// calls that wait for the team: where they return something, it is of this member alone. The region does not return then, whoever catches what: see [`Hive::spmd`](crate::Hive::spmd).
    ///
    /// In a region that a destructor runs, barriers unwind as anywhere else: the part ends in that destructor. Only in a destructor that runs because such a part of the queen is being unwound they
    /// cannot know, and abort.
    #[inline]
    #[track_caller]
    pub fn barrier(&self) {
        self.member.barrier();
    }

    /// This member's block of `range`: contiguous, in order of the members' numbers, of lengths that differ by at most one.
    ///
    /// ```
    /// let squares = hive::spmd_map(3, |bee| bee.split(0..10).map(|i| i * i).sum::<usize>());
    /// assert_eq!(squares.iter().sum::<usize>(), 285);
    /// ```
    #[inline]
    pub fn split(&self, range: Range<usize>) -> Range<usize> {
        split::block(range, self.id(), self.count())
    }

    /// Where this member's thread is bound to; None where it is not bound.
    pub fn place(&self) -> Option<Place> {
        pin::bound_place()
    }

    /// Runs `body` with the CPU affinity that the hive's builder had, for whatever must not inherit the mask of a pinned
    /// bee: threads that `body` spawns, processes, other libraries' pools.
    ///
    /// A thread inherits the affinity of the one that spawns it. Spawned on a bee that is bound to one core, without this,
    /// all of them would share that core with the bee. On a member that is not bound this only runs `body`. (Blocked
    /// signals are inherited as well, and stay so: see [`Hive`](crate::Hive).)
    ///
    /// ```
    /// hive::spmd(2, |bee| {
    ///     let helper = bee.unpinned(|| std::thread::spawn(|| 6 * 7));
    ///     assert_eq!(helper.join().unwrap(), 42);
    /// });
    /// ```
    pub fn unpinned<R>(&self, body: impl FnOnce() -> R) -> R {
        // Only CPUs that were taken from the process meanwhile make this fail, and then the bee's own mask is as good as any.
        let _unpinned = pin::unpin();
        body()
    }
}

impl fmt::Debug for Bee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bee {{ id: {}, count: {} }}", self.id(), self.count())
    }
}
