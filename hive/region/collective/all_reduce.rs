//! The bees' values combined into one.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

/// Up to this team each bee reads the values of all and combines them by itself; of a larger one the queen does and tells the others, or there would be
/// a transfer for each two bees.
const ALL_TO_ALL_MAX_BEES: usize = 16;

impl Bee<'_> {
    /// Combines a value from each bee, in the order of their numbers, for all of them: `op(op(v0, v1), v2)` and so on.
    ///
    /// All bees must call it, with the same type and the same `op`. It is a barrier as well. The order makes the result the same from run to
    /// run, bit by bit, as long as the team has the same size.
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
    /// As [`barrier_shape`](Self::barrier); if another bee, whose value this one needs, comes to something else than this with a value of this type; and if `op` itself waits for the other bees. In
    /// a destructor [that must not panic](Self::barrier) it is `value` instead.
    ///
    /// So no value is ever made of what was meant for another operation. But a bee that needs nothing of the one that has come for something else does not see it: in `reduce` only the queen needs the
    /// others', in a scan each bee those before it, in [`broadcast_from`](Self::broadcast_from) the root's, in [`single_claim`](Self::single) those who are not first the first one's, and in a barrier nobody
    /// anybody's. With debug assertions all bees look at bee 0's, and it at all others', so that each mix of operations is a panic that names both, a barrier among them.
    #[inline]
    #[track_caller]
    pub fn all_reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        self.all_reduce_as(Operation::AllReduce, value, op)
    }

    /// The same as a part of `operation`.
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
            return slots.and_then(|slots| slots.combine(self.context.bees(), op)).unwrap_or(value);
        }
        let sum = self.reduce_as(operation, value, op);
        // Only the queen has it.
        self.broadcast_as(operation, 0, || sum.unwrap_or(value))
    }

    /// As [`all_reduce`](Self::all_reduce), for the queen: the others get None, and are spared the work.
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
    pub fn reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> Option<T> {
        self.reduce_as(Operation::Reduce, value, op)
    }

    /// The same as a part of `operation`.
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
