//! The members' values combined into one.

use crate::crew::Operation;
use crate::region::Bee;

/// Up to this team each member reads the values of all and combines them by itself; of a larger one the queen does and tells the others, or there would be
/// a transfer for each two members.
const ALL_READ_ALL: usize = 16;

impl Bee<'_> {
    /// Combines a value from each member, in the order of their numbers, for all of them: `op(op(v0, v1), v2)` and so on.
    ///
    /// All members must call it, with the same type and the same `op`. It is a barrier as well. The order makes the result the same from run to
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
    /// As [`barrier`](Self::barrier); if another member, whose value this one needs, comes to something else than this with a value of this type; and if `op` itself waits for the other members. In
    /// a destructor [that must not panic](Self::barrier) it is `value` instead.
    ///
    /// So no value is ever made of what was meant for another operation. But a member that needs nothing of the one that has come for something else does not see it: in `reduce` only the queen needs the
    /// others', in a scan each member those before it, in [`broadcast_from`](Self::broadcast_from) the root's, in [`single`](Self::single) those who are not first the first one's, and in a barrier nobody
    /// anybody's. With debug assertions all members look at member 0's, and it at all others', so that each mix of operations is a panic that names both, a barrier among them.
    #[inline]
    #[track_caller]
    pub fn all_reduce<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        self.all_reduce_for(Operation::AllReduce, value, op)
    }

    /// The same as a part of `operation`.
    #[inline]
    #[track_caller]
    pub(crate) fn all_reduce_for<T: Copy + Send + 'static>(&self, operation: Operation, value: T, op: impl Fn(T, T) -> T) -> T {
        if self.count() <= ALL_READ_ALL {
            let shown = self.show(operation, &[value]);
            return shown.and_then(|shown| shown.combine(self.member.team(), op)).unwrap_or(value);
        }
        let sum = self.reduce_for(operation, value, op);
        // Only the queen has it.
        self.broadcast_for(operation, 0, || sum.unwrap_or(value))
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
        self.reduce_for(Operation::Reduce, value, op)
    }

    /// The same as a part of `operation`.
    #[inline]
    #[track_caller]
    pub(crate) fn reduce_for<T: Copy + Send + 'static>(
        &self,
        operation: Operation,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Option<T> {
        let shown = self.show(operation, &[value]);
        self.is_queen().then(|| shown.and_then(|shown| shown.combine(self.member.team(), op)).unwrap_or(value))
    }
}
