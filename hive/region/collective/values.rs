//! The collective operations that exchange values: `Bee::all_reduce` and `Bee::reduce` combine one value from each bee,
//! `Bee::scan_inclusive` and `Bee::scan_exclusive` compute prefix sums over the bees' values, `Bee::broadcast_from`
//! passes on the value of one bee, and `Bee::single` the result of work that the first bee to arrive does for all.

use crate::protocol::region::exchange::Exchanged;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;
use crate::region::collective::{ByCopy, end_with};

/// In a team of up to this size each bee reads the values of all others and combines them itself. In a larger team the
/// queen does that and then shows the result to the others. Otherwise the number of transfers between cores would grow
/// with the square of the team.
const ALL_TO_ALL_MAX_BEES: usize = 16;

impl Bee<'_> {
    /// Combines a value from each bee, in the order of the bees' numbers, and returns the result on all of them:
    /// `op(op(v0, v1), v2)` and so on.
    ///
    /// All bees must call it, with the same type and the same `op`. It is a barrier as well. Because of the fixed
    /// order, the result is the same from run to run, bit by bit, as long as the team has the same size. Values that
    /// are not `Copy` are for [`all_reduce_cloned`](Self::all_reduce_cloned).
    ///
    /// ```
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// hive::spmd(3, |bee| {
    ///     let largest = x[bee.split(0..x.len())].iter().copied().fold(f64::MIN, f64::max);
    ///     assert_eq!(bee.all_reduce(largest, f64::max), 999.0);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`barrier`](Self::barrier); if another bee whose value this one needs has called something else than this
    /// operation with this type; and if `op` itself waits for the other bees. If `op` panics, the region has failed,
    /// whatever is caught. In a destructor [that must not panic](Self::barrier) the result is `value` instead.
    ///
    /// So no result is ever made from a value that was meant for another operation. But a bee that needs no value of
    /// the bee that has called something else does not notice it. In `reduce`, only the queen needs the values of the
    /// others; in a scan, each bee needs those of the bees before it; in [`broadcast_from`](Self::broadcast_from), all
    /// need the value of the root; in [`single`](Self::single), all need that of the first bee; in a barrier, no bee
    /// needs any. With debug assertions, all bees check bee 0 and bee 0 checks all others, so that every mix of
    /// operations is a panic that names both operations, even if one of them is a barrier.
    #[inline]
    #[track_caller]
    #[doc(alias("allreduce", "reduction", "MPI_Allreduce"))]
    pub fn all_reduce<T: ByCopy>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::AllReduce);
        end_with(call, self.all_reduce_as(Operation::AllReduce, value, op))
    }

    /// The same as a part of `operation`, a call that has begun.
    #[inline]
    #[track_caller]
    pub(crate) fn all_reduce_as<T: ByCopy>(&self, operation: Operation, value: T, op: impl Fn(T, T) -> T) -> T {
        if self.bees() <= ALL_TO_ALL_MAX_BEES {
            let slots = self.exchange(operation, None, &[value]);
            // None: this bee is alone, or must not panic. Then its own value is the result.
            return slots.and_then(|slots| slots.combine(self.context.bees, op)).unwrap_or(value);
        }
        let sum = self.reduce_as(operation, value, op);
        // Only the queen has the result, and only her closure is called; except that in a destructor that must not
        // panic a bee that gets nothing from her calls its own, for its own value.
        self.share_value(operation, Some(0), self.is_queen(), || sum.unwrap_or(value))
    }

    /// As [`all_reduce`](Self::all_reduce), but only the queen gets the result. The other bees get None and do not
    /// combine anything.
    ///
    /// ```
    /// hive::spmd(4, |bee| match bee.reduce(bee.id(), |a, b| a + b) {
    ///     Some(sum) => assert!(bee.is_queen() && sum == 6),
    ///     None => assert!(!bee.is_queen()),
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    #[doc(alias("reduction", "MPI_Reduce"))]
    pub fn reduce<T: ByCopy>(&self, value: T, op: impl Fn(T, T) -> T) -> Option<T> {
        let call = self.context.begin_call(Operation::Reduce);
        end_with(call, self.reduce_as(Operation::Reduce, value, op))
    }

    /// The same as a part of `operation`, a call that has begun.
    #[inline]
    #[track_caller]
    pub(crate) fn reduce_as<T: ByCopy>(&self, operation: Operation, value: T, op: impl Fn(T, T) -> T) -> Option<T> {
        let slots = self.exchange(operation, None, &[value]);
        self.is_queen().then(|| slots.and_then(|slots| slots.combine(self.context.bees, op)).unwrap_or(value))
    }

    /// Combines the values of all bees up to this one, including its own, in the order of the bees' numbers.
    ///
    /// All bees must call it, with the same type and the same `op`. It is a barrier as well. With it each bee learns
    /// where its part of a common result goes:
    ///
    /// ```
    /// hive::spmd(3, |bee| {
    ///     let found = bee.id() + 1; // the number of results that this bee has
    ///     let end = bee.scan_inclusive(found, |a, b| a + b);
    ///     assert_eq!(end - found..end, [0..1, 1..3, 3..6][bee.id()]);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    #[doc(alias("prefix sum", "cumsum", "MPI_Scan"))]
    pub fn scan_inclusive<T: ByCopy>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::ScanInclusive);
        let slots = self.exchange(Operation::ScanInclusive, None, &[value]);
        end_with(call, slots.and_then(|slots| slots.combine(self.context.id + 1, op)).unwrap_or(value))
    }

    /// Combines `init` and the values of all bees before this one, in the order of the bees' numbers: bee 0 gets
    /// `init`, bee 1 gets `op(init, v0)` and so on. Otherwise as [`scan_inclusive`](Self::scan_inclusive).
    ///
    /// ```
    /// hive::spmd(3, |bee| {
    ///     let start = bee.scan_exclusive(100, 10, |a, b| a + b);
    ///     assert_eq!(start, [100, 110, 120][bee.id()]);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    #[doc(alias("prefix sum", "cumsum", "MPI_Exscan"))]
    pub fn scan_exclusive<T: ByCopy>(&self, init: T, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::ScanExclusive);
        let slots = self.exchange(Operation::ScanExclusive, None, &[value]);
        let prefix =
            slots.and_then(|slots| (0..self.context.id).try_fold(init, |sum, id| Some(op(sum, slots.value(id, 0)?))));
        end_with(call, prefix.unwrap_or(init))
    }

    /// Calls `make` on bee `root` and returns its value on all bees. The other bees do not call `make`, with one
    /// exception: in a destructor [that must not panic](Self::barrier), if the value of the root does not arrive.
    ///
    /// All bees must call this, with the same `root` and type. It is a barrier as well. A value that is larger than a
    /// few words is better made by [`single`](Self::single), in a place that all bees can see.
    ///
    /// ```
    /// hive::spmd(4, |bee| {
    ///     let pivot = bee.broadcast_from(2, || bee.id() * 100);
    ///     assert_eq!(pivot, 200);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no bee `root`, if another bee names another root, and as [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    #[doc(alias("bcast", "copyprivate", "MPI_Bcast"))]
    pub fn broadcast_from<T: ByCopy>(&self, root: usize, make: impl FnOnce() -> T) -> T {
        let call = self.context.begin_call(Operation::BroadcastFrom);
        assert!(root < self.bees(), "there is no bee {root} in a team of {}", self.bees());
        end_with(call, self.share_value(Operation::BroadcastFrom, Some(root as u32), root == self.id(), make))
    }

    /// The value that `make` returns on one bee, on all bees, as a part of `operation`, a call that has begun.
    /// `is_maker`: whether that is this bee. `root`: its number, if all bees know it.
    #[inline]
    #[track_caller]
    pub(crate) fn share_value<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        root: Option<u32>,
        is_maker: bool,
        make: impl FnOnce() -> T,
    ) -> T {
        // That bee makes the value before the barrier and shows it; the others show nothing.
        let (made, make) = if is_maker { (Some(make()), None) } else { (None, Some(make)) };
        let slots = self.exchange(operation, root, made.as_slice());
        if let Some(slots) = slots.as_ref().filter(|_| is_maker && root.is_some_and(|root| root > 0)) {
            // All other bees read the root's slot. The root itself checks bee 0, so that two bees that both take
            // themselves for the root do not go unnoticed.
            slots.count(0);
        }
        let shown_value = || match root {
            Some(root) => slots?.value(root, 0),
            None => first_value(&slots?, self.context.bees),
        };
        // Only in a destructor that must not panic, on a bee that gets nothing from the one that has made it.
        let make_own = || make.map(|make| make()).unwrap_or_else(|| unreachable!("this bee has made it"));
        made.or_else(shown_value).unwrap_or_else(make_own)
    }

    /// Runs `work` on the bee that arrives here first, and returns its result on all bees when it is done: OpenMP's
    /// `single`. (In a destructor [that must not panic](Self::barrier), and in a team of one, a bee runs `work`
    /// itself.)
    ///
    /// All bees must call it. It is a barrier as well: what `work` did is visible to all bees afterwards.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let runs = AtomicUsize::new(0);
    /// hive::spmd(4, |bee| {
    ///     let who = bee.single(|| {
    ///         runs.fetch_add(1, Ordering::Relaxed);
    ///         bee.id()
    ///     });
    ///     assert!(who < 4);
    /// });
    /// assert_eq!(runs.into_inner(), 1);
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce). If `work` panics, the region has failed, whatever is caught: see
    /// [`barrier`](Self::barrier). What is to be caught is caught in `work`.
    #[inline]
    #[track_caller]
    #[doc(alias("omp single", "copyprivate", "once"))]
    pub fn single<T: ByCopy>(&self, work: impl FnOnce() -> T) -> T {
        let call = self.context.begin_call(Operation::Single);
        end_with(call, self.share_value(Operation::Single, None, self.context.claim_single(), work))
    }
}

/// The value of the bee that has shown one: the slots of the bees are read in turn until it is found. None in a
/// destructor that must not panic.
#[inline]
#[track_caller]
fn first_value<T: Copy + 'static>(slots: &Exchanged<'_, T>, bees: u32) -> Option<T> {
    for id in 0..bees {
        if slots.count(id)? > 0 {
            return slots.value(id, 0);
        }
    }
    None
}
