//! Prefix sums over the bees.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// The values of the bees up to this one combined, its own among them, in the order of their numbers.
    ///
    /// All bees must call it, with the same type and the same `op`. It is a barrier as well. With it each bee learns where its part of a
    /// common result goes:
    ///
    /// ```
    /// hive::spmd(3, |bee| {
    ///     let found = bee.id() + 1; // so many results of its own
    ///     let end = bee.scan_inclusive(found, |a, b| a + b);
    ///     assert_eq!(end - found..end, [0..1, 1..3, 3..6][bee.id()]);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce).
    #[inline]
    #[track_caller]
    pub fn scan_inclusive<T: Copy + Send + 'static>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let slots = self.exchange(Operation::ScanInclusive, &[value]);
        slots.and_then(|slots| slots.combine(self.context.id() + 1, op)).unwrap_or(value)
    }

    /// The values of the bees before this one combined, `first` at the head: bee 0 gets `first`, bee 1 gets `op(first, v0)` and so on.
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
    pub fn scan_exclusive<T: Copy + Send + 'static>(&self, init: T, value: T, op: impl Fn(T, T) -> T) -> T {
        let slots = self.exchange(Operation::ScanExclusive, &[value]);
        let prefix =
            slots.and_then(|slots| (0..self.context.id()).try_fold(init, |sum, id| Some(op(sum, slots.value(id, 0)?))));
        prefix.unwrap_or(init)
    }
}
