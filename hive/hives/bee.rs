//! What the body of a region over several hives sees: its bee of the team.

use std::fmt;
use std::ops::Range;

use crate::hives::set_team::{SetTeam, meet_checked};
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;
use crate::region::split;

/// One bee of a region over several hives: what the body learns who it is from, and meets the others through.
///
/// It has a number over all hives, and is a [`Bee`] of its own hive at the same time: [`local`](Self::local). It cannot leave its thread, as a `Bee` cannot:
///
/// ```compile_fail,E0277
/// hive::HiveSet::per_node()?.spmd(|bee| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| bee.barrier()); // `HiveSetBee` is not Sync
///     });
/// });
/// # Ok::<(), hive::BuildError>(())
/// ```
pub struct HiveSetBee<'r> {
    pub(crate) team: &'r SetTeam<'r>,
    pub(crate) hive: usize,
    pub(crate) local: &'r Bee<'r>,
}

impl HiveSetBee<'_> {
    /// This bee's number, from 0 (the calling thread's) to `count() - 1`: first those of hive 0, in their order, then those of hive 1, and so on.
    #[inline]
    pub fn id(&self) -> usize {
        self.team.first_id(self.hive) + self.local.id()
    }

    /// The number of bees of the team, over all hives.
    #[inline]
    pub fn bees(&self) -> usize {
        self.team.bees()
    }

    /// Whether this is bee 0, the one on the thread that started the region.
    #[inline]
    pub fn is_queen(&self) -> bool {
        self.id() == 0
    }

    /// The number of this bee's hive: the index of it in [`HiveSet`](crate::Hives).
    #[inline]
    pub fn hive(&self) -> usize {
        self.hive
    }

    /// The number of hives that the team has bees of: all, or 1 in a nested region.
    #[inline]
    pub fn hives(&self) -> usize {
        self.team.hive_count()
    }

    /// The NUMA node of this bee's hive, by the system's number: see [`HiveSet::node`](crate::hives::hive_set::HiveSet::node).
    #[inline]
    pub fn node(&self) -> Option<usize> {
        self.team.hives.node(self.hive)
    }

    /// This bee as one of its own hive: for loops, barriers, reductions and so on within the hive, which then have nothing to do with the others.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// hives.spmd(|bee| {
    ///     // Each hive has a block of its own, and each of its bees a part of that.
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

    /// This bee's block of `range`: contiguous, in order of the bees' numbers, of lengths that differ by at most one.
    ///
    /// ```
    /// let sums = hive::HiveSet::per_node()?.spmd_map(|bee| bee.split(0..1000).sum::<usize>());
    /// assert_eq!(sums.iter().sum::<usize>(), 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    #[inline]
    pub fn split(&self, range: Range<usize>) -> Range<usize> {
        split::block(range, self.id(), self.bees())
    }

    /// The blocks that [`split`](Self::split) gives to the bees of this bee's hive, together: for memory on the hive's node.
    #[inline]
    pub fn split_by_hive(&self, range: Range<usize>) -> Range<usize> {
        let first = self.team.first_id(self.hive);
        split::blocks(range, first..first + self.local.bees(), self.bees())
    }

    /// Waits until every bee of every hive has come to this barrier. What any bee did before it is then visible to all.
    ///
    /// All bees must call it equally often, and in the same order with what they wait for within their hives. The bees of each hive meet, then the leaders of
    /// all hives, then the bees of each hive again: so that a cache line goes from node to node only between leaders.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hives = hive::HiveSet::per_node()?;
    /// let arrived = AtomicUsize::new(0);
    /// hives.spmd(|bee| {
    ///     arrived.fetch_add(1, Ordering::Relaxed);
    ///     bee.barrier();
    ///     assert_eq!(arrived.load(Ordering::Relaxed), bee.bees());
    /// });
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If another bee's part has ended without coming to this barrier. When another bee has panicked, of whatever hive, the barrier ends this part by unwinding, without a
    /// report of its own, as [`Bee::barrier_shape`] does.
    #[track_caller]
    pub fn barrier(&self) {
        let context = self.local.context;
        let passed = meet_checked(context, || context.barrier());
        if passed.is_none() || self.hives() == 1 {
            return;
        }
        if context.id() == 0 && self.team.meet_leaders(context, |leader| leader.barrier()).is_none() {
            return;
        }
        context.barrier();
    }

    /// Combines a value from each bee, for all of them: within each hive as [`Bee::all_reduce`], then what the hives have, in their order.
    ///
    /// All bees must call it, with the same type and the same `op`. It is a [barrier](Self::barrier) as well. The result is the same from run to run, bit by bit, as long as the hives have the
    /// same sizes.
    ///
    /// ```
    /// let hives = hive::HiveSet::per_node()?;
    /// hives.spmd(|bee| assert_eq!(bee.all_reduce(bee.id(), usize::max), bee.bees() - 1));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`barrier_shape`](Self::barrier); if another bee comes to something else than this with a value of this type, as far as
    /// [`Bee::all_reduce`] finds it; and if `op` itself waits for the other bees.
    #[track_caller]
    pub fn all_reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        if self.hives() == 1 {
            return self.local.all_reduce(value, op);
        }
        let hive_value =
            meet_checked(self.local.context, || self.local.reduce_as(Operation::AllReduceOfHives, value, &op));
        self.local.broadcast_as(Operation::AllReduceOfHives, 0, || {
            // None: a panic has broken the meeting, and the value is for nobody else.
            let Some(hive_value) = hive_value.flatten() else { return value };
            self.team.meet_leaders(self.local.context, |leader| leader.all_reduce(hive_value, op)).unwrap_or(hive_value)
        })
    }
}

impl fmt::Debug for HiveSetBee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiveSetBee {{ id: {}, bees: {}, hive: {} }}", self.id(), self.bees(), self.hive)
    }
}
