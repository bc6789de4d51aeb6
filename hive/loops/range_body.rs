//! What a bee does with the ranges of indices that it gets from a loop. `Loop::run` calls it: for `Bee::for_each` with
//! the user's closure, for `Hive::par_reduce` with a `ReduceBody`.

use std::ops::Range;

use crate::loops::chunks::Chunks;
use crate::region::no_double_panic::{NoDoublePanic, add_to};

/// What one bee does with each range of indices that it gets.
///
/// Loops call it by pointers, so that a program has their code once, and not once for each of its loops: a method does
/// all that can be done with what the bee has got.
pub(crate) trait RangeBody {
    /// Called for one block or one chunk.
    fn run_range(&mut self, range: Range<usize>);

    /// Whether neither this index nor any after it is to be run. The chunks that are left then need not be dealt out
    /// one by one.
    #[inline(always)]
    fn is_over_from(&self, _index: usize) -> bool {
        false
    }

    /// Runs several consecutive chunks of one index each, one after the other, in one call: the compiler then knows
    /// that each range is a single index, and a body can keep its state in registers meanwhile.
    #[inline]
    fn run_each_index(&mut self, indices: Range<usize>) {
        indices.for_each(|index| self.run_range(index..index + 1));
    }

    /// Runs every `step`-th of the chunks with these numbers, one after the other, until it is over.
    #[inline]
    fn run_chunks(&mut self, chunks: &Chunks, numbers: Range<usize>, step: usize) {
        let mut number = numbers.start;
        while number < numbers.end {
            let range = chunks.indices(number..number + 1);
            if self.is_over_from(range.start) {
                return;
            }
            self.run_range(range);
            number = number.saturating_add(step);
        }
    }
}

impl<F: FnMut(Range<usize>)> RangeBody for F {
    #[inline(always)]
    fn run_range(&mut self, range: Range<usize>) {
        self(range);
    }
}

/// Calls `map` for each range and combines the results with `op`, in the order in which the bee gets the ranges.
pub(crate) struct ReduceBody<'s, T, M, F> {
    /// What has been combined so far. None: the bee has had no range yet.
    pub(crate) value: Option<NoDoublePanic<T>>,
    pub(crate) map: &'s M,
    pub(crate) op: &'s F,
}

impl<T, M: Fn(Range<usize>) -> T, F: Fn(T, T) -> T> RangeBody for ReduceBody<'_, T, M, F> {
    #[inline(always)]
    fn run_range(&mut self, range: Range<usize>) {
        add_to(&mut self.value, Some(NoDoublePanic::new((self.map)(range))), self.op);
    }

    /// Keeps the running value in a local variable, which can stay in a register, instead of storing it after each
    /// index.
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
