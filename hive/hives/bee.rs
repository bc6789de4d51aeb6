//! What the body of a region over several hives sees: its member of the team.

use std::fmt;
use std::ops::Range;

use super::team::{Team, passing};
use crate::crew::Operation;
use crate::region::Bee;
use crate::split;

/// One member of a region over several hives: what the body learns who it is from, and meets the others through.
///
/// It has a number over all hives, and is a [`Bee`] of its own hive at the same time: [`local`](Self::local). It cannot leave its thread, as a `Bee` cannot:
///
/// ```compile_fail,E0277
/// hive::Hives::per_node()?.spmd(|bee| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| bee.barrier()); // `HivesBee` is not Sync
///     });
/// });
/// # Ok::<(), hive::BuildError>(())
/// ```
pub struct HivesBee<'r> {
    pub(super) team: &'r Team<'r>,
    pub(super) hive: usize,
    pub(super) local: &'r Bee<'r>,
}

impl HivesBee<'_> {
    /// This member's number, from 0 (the calling thread's) to `count() - 1`: first those of hive 0, in their order, then those of hive 1, and so on.
    #[inline]
    pub fn id(&self) -> usize {
        self.team.first_of(self.hive) + self.local.id()
    }

    /// The number of members of the team, over all hives.
    #[inline]
    pub fn count(&self) -> usize {
        self.team.count()
    }

    /// Whether this is member 0, the one on the thread that started the region.
    #[inline]
    pub fn is_queen(&self) -> bool {
        self.id() == 0
    }

    /// The number of this member's hive: the index of it in [`Hives`](crate::Hives).
    #[inline]
    pub fn hive(&self) -> usize {
        self.hive
    }

    /// The number of hives that the team has members of: all, or 1 in a nested region.
    #[inline]
    pub fn hives(&self) -> usize {
        self.team.hives()
    }

    /// The NUMA node of this member's hive, by the system's number: see [`Hives::node`](crate::Hives::node).
    #[inline]
    pub fn node(&self) -> Option<usize> {
        self.team.hives.node(self.hive)
    }

    /// This member as one of its own hive: for loops, barriers, reductions and so on within the hive, which then have nothing to do with the others.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// hives.spmd(|bee| {
    ///     // Each hive has a block of its own, and each of its members a part of that.
    ///     let own = bee.split_by_hive(0..x.len());
    ///     let sum = bee.local().all_reduce(x[bee.split(0..x.len())].iter().sum::<f64>(), |a, b| a + b);
    ///     assert_eq!(sum, x[own].iter().sum::<f64>());
    /// });
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    #[inline]
    pub fn local(&self) -> &Bee<'_> {
        self.local
    }

    /// This member's block of `range`: contiguous, in order of the members' numbers, of lengths that differ by at most one.
    ///
    /// ```
    /// let sums = hive::Hives::per_node()?.spmd_map(|bee| bee.split(0..1000).sum::<usize>());
    /// assert_eq!(sums.iter().sum::<usize>(), 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    #[inline]
    pub fn split(&self, range: Range<usize>) -> Range<usize> {
        split::block(range, self.id(), self.count())
    }

    /// The blocks that [`split`](Self::split) gives to the members of this member's hive, together: for memory on the hive's node.
    #[inline]
    pub fn split_by_hive(&self, range: Range<usize>) -> Range<usize> {
        let first = self.team.first_of(self.hive);
        split::blocks(range, first..first + self.local.count(), self.count())
    }

    /// Waits until every member of every hive has come to this barrier. What any member did before it is then visible to all.
    ///
    /// All members must call it equally often, and in the same order with what they wait for within their hives. The members of each hive meet, then the leaders of
    /// all hives, then the members of each hive again: so that a cache line goes from node to node only between leaders.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hives = hive::Hives::per_node()?;
    /// let arrived = AtomicUsize::new(0);
    /// hives.spmd(|bee| {
    ///     arrived.fetch_add(1, Ordering::Relaxed);
    ///     bee.barrier();
    ///     assert_eq!(arrived.load(Ordering::Relaxed), bee.count());
    /// });
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If another member's part has ended without coming to this barrier. When another member has panicked, of whatever hive, the barrier ends this part by unwinding, without a
    /// report of its own, as [`Bee::barrier`] does.
    #[track_caller]
    pub fn barrier(&self) {
        let own = self.local.member;
        let met = passing(own, || own.barrier());
        if met.is_none() || self.hives() == 1 {
            return;
        }
        if own.id() == 0 && self.team.among_leaders(own, |leader| leader.barrier()).is_none() {
            return;
        }
        own.barrier();
    }

    /// Combines a value from each member, for all of them: within each hive as [`Bee::all_reduce`], then what the hives have, in their order.
    ///
    /// All members must call it, with the same type and the same `op`. It is a [barrier](Self::barrier) as well. The result is the same from run to run, bit by bit, as long as the hives have the
    /// same sizes.
    ///
    /// ```
    /// let hives = hive::Hives::per_node()?;
    /// hives.spmd(|bee| assert_eq!(bee.all_reduce(bee.id(), usize::max), bee.count() - 1));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`barrier`](Self::barrier); if another member comes to something else than this with a value of this type, as far as
    /// [`Bee::all_reduce`] finds it; and if `op` itself waits for the other members.
    #[track_caller]
    pub fn all_reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        if self.hives() == 1 {
            return self.local.all_reduce(value, op);
        }
        let own = passing(self.local.member, || self.local.reduce_for(Operation::AllReduceOfHives, value, &op));
        self.local.broadcast_for(Operation::AllReduceOfHives, 0, || {
            // None: a panic has broken the meeting, and the value is for nobody else.
            let Some(own) = own.flatten() else { return value };
            self.team.among_leaders(self.local.member, |leader| leader.all_reduce(own, op)).unwrap_or(own)
        })
    }
}

impl fmt::Debug for HivesBee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HivesBee {{ id: {}, count: {}, hive: {} }}", self.id(), self.count(), self.hive)
    }
}
