//! `Bee::scan_inclusive` and `Bee::scan_exclusive`: prefix sums over the bees' values.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
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
    pub fn scan_inclusive<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::ScanInclusive);
        let slots = self.exchange(Operation::ScanInclusive, &[value]);
        let prefix = slots.and_then(|slots| slots.combine(self.context.id() + 1, op)).unwrap_or(value);
        call.end();
        prefix
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
    pub fn scan_exclusive<T: Copy + Send + 'static>(&self, init: T, value: T, op: impl Fn(T, T) -> T) -> T {
        let call = self.context.begin_call(Operation::ScanExclusive);
        let slots = self.exchange(Operation::ScanExclusive, &[value]);
        let prefix =
            slots.and_then(|slots| (0..self.context.id()).try_fold(init, |sum, id| Some(op(sum, slots.value(id, 0)?))));
        call.end();
        prefix.unwrap_or(init)
    }
}
