//! Prefix sums over the members.

use crate::crew::Operation;
use crate::region::Bee;

impl Bee<'_> {
    /// The values of the members up to this one combined, its own among them, in the order of their numbers.
    ///
    /// All members must call it, with the same type and the same `op`. It is a barrier as well. With it each member learns where its part of a
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
        let shown = self.show(Operation::ScanInclusive, &[value]);
        shown.and_then(|shown| shown.combine(self.member.id() + 1, op)).unwrap_or(value)
    }

    /// The values of the members before this one combined, `first` at the head: member 0 gets `first`, member 1 gets `op(first, v0)` and so on.
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
    pub fn scan_exclusive<T: Copy + Send + 'static>(&self, first: T, value: T, op: impl Fn(T, T) -> T) -> T {
        let shown = self.show(Operation::ScanExclusive, &[value]);
        let before = shown.and_then(|shown| (0..self.member.id()).try_fold(first, |sum, id| Some(op(sum, shown.value(id, 0)?))));
        before.unwrap_or(first)
    }
}
