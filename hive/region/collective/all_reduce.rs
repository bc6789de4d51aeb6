//! `Bee::all_reduce` and `Bee::reduce`: combine one value from each bee into one.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

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
    pub fn all_reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::AllReduce);
        let result = self.all_reduce_as(Operation::AllReduce, value, op);
        call.end();
        result
    }

    /// The same as a part of `operation`, a call that has begun.
    #[inline]
    #[track_caller]
    pub(crate) fn all_reduce_as<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> T {
        if self.bees() <= ALL_TO_ALL_MAX_BEES {
            let slots = self.exchange(operation, &[value]);
            // None: this bee is alone, or must not panic. Then its own value is the result.
            return slots.and_then(|slots| slots.combine(self.context.bees(), op)).unwrap_or(value);
        }
        let sum = self.reduce_as(operation, value, op);
        // Only the queen has the result, and only her closure is called.
        self.broadcast_as(operation, 0, || sum.unwrap_or(value))
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
    pub fn reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> Option<T> {
        let call = self.context.begin_call(Operation::Reduce);
        let result = self.reduce_as(Operation::Reduce, value, op);
        call.end();
        result
    }

    /// The same as a part of `operation`, a call that has begun.
    #[inline]
    #[track_caller]
    pub(crate) fn reduce_as<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Option<T> {
        let slots = self.exchange(operation, &[value]);
        self.is_queen().then(|| slots.and_then(|slots| slots.combine(self.context.bees(), op)).unwrap_or(value))
    }
}
