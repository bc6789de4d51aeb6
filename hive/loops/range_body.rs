//! What is done for the indices of a loop.

use std::ops::Range;

use crate::region::no_double_panic::NoDoublePanic;

/// What one bee does for the ranges that it gets.
pub(crate) trait RangeBody {
    /// For a block or a chunk.
    fn run_range(&mut self, range: Range<usize>);

    /// For chunks of one index each, these.
    #[inline]
    fn run_each_index(&mut self, indices: Range<usize>) {
        indices.for_each(|index| self.run_range(index..index + 1));
    }
}

impl<F: FnMut(Range<usize>)> RangeBody for F {
    #[inline(always)]
    fn run_range(&mut self, range: Range<usize>) {
        self(range);
    }
}

/// Combines what `map_pages` has for each range.
pub(crate) struct ReduceBody<'s, T, M, F> {
    pub(crate) value: Option<NoDoublePanic<T>>,
    pub(crate) map: &'s M,
    pub(crate) op: &'s F,
}

impl<T, M: Fn(Range<usize>) -> T, F: Fn(T, T) -> T> RangeBody for ReduceBody<'_, T, M, F> {
    #[inline(always)]
    fn run_range(&mut self, range: Range<usize>) {
        let value = (self.map)(range);
        self.value = Some(NoDoublePanic::new(match self.value.take() {
            Some(sum) => (self.op)(sum.into_inner(), value),
            None => value,
        }));
    }

    /// With the sum in a register.
    #[inline]
    fn run_each_index(&mut self, indices: Range<usize>) {
        let Self { value: sum, map, op } = self;
        let mut indices = indices.map(|index| NoDoublePanic::new(map(index..index + 1)));
        let first = sum.take().or_else(|| indices.next());
        let add = |sum: NoDoublePanic<T>, value: NoDoublePanic<T>| {
            NoDoublePanic::new(op(sum.into_inner(), value.into_inner()))
        };
        *sum = first.map(|before| indices.fold(before, add));
    }
}
