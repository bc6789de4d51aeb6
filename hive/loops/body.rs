//! What is done for the indices of a loop.

use std::ops::Range;

use crate::quiet::Quiet;

/// What one member does for the ranges that it gets.
pub(crate) trait Body {
    /// For a block or a chunk.
    fn range(&mut self, range: Range<usize>);

    /// For chunks of one index each, these.
    #[inline]
    fn one_by_one(&mut self, indices: Range<usize>) {
        indices.for_each(|index| self.range(index..index + 1));
    }
}

impl<F: FnMut(Range<usize>)> Body for F {
    #[inline(always)]
    fn range(&mut self, range: Range<usize>) {
        self(range);
    }
}

/// Combines what `map` has for each range.
pub(crate) struct Sum<'s, T, M, F> {
    pub(crate) sum: Option<Quiet<T>>,
    pub(crate) map: &'s M,
    pub(crate) op: &'s F,
}

impl<T, M: Fn(Range<usize>) -> T, F: Fn(T, T) -> T> Body for Sum<'_, T, M, F> {
    #[inline(always)]
    fn range(&mut self, range: Range<usize>) {
        let value = (self.map)(range);
        self.sum = Some(Quiet::new(match self.sum.take() {
            Some(sum) => (self.op)(sum.into_inner(), value),
            None => value,
        }));
    }

    /// With the sum in a register.
    #[inline]
    fn one_by_one(&mut self, indices: Range<usize>) {
        let Self { sum, map, op } = self;
        let mut indices = indices.map(|index| Quiet::new(map(index..index + 1)));
        let before = sum.take().or_else(|| indices.next());
        let add = |sum: Quiet<T>, value: Quiet<T>| Quiet::new(op(sum.into_inner(), value.into_inner()));
        *sum = before.map(|before| indices.fold(before, add));
    }
}
