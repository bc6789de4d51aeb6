//! A range of indices cut into chunks of equal length, or into blocks that begin at multiples of some number; and the
//! chunks of a loop in units, as many as its shared words can number. Pure arithmetic that does not overflow for any
//! range up to `usize::MAX`. Used by loops (`shared_loop.rs`), plans (`memory/plan.rs`) and tiles (`tiles.rs`).

use std::ops::Range;

use crate::region::split;

/// A range that is cut every `chunk_len` indices, counted from `origin`. The first and the last chunk may be shorter
/// than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    start: usize,
    end: usize,
    /// The index from which the cuts are counted: the last multiple of the argument `multiple` of `new` up to `start`.
    origin: usize,
    /// The distance between two cuts, at least 1.
    chunk_len: usize,
}

impl Chunks {
    /// Cuts `range` into chunks of `chunk_len` indices, rounded up to a multiple of `multiple`. All cuts are at
    /// multiples of `multiple`.
    #[inline]
    pub(crate) fn new(range: &Range<usize>, chunk_len: usize, multiple: usize) -> Self {
        let origin = range.start - range.start % multiple;
        // If the length cannot be rounded up, it is longer than any range, so one chunk is enough.
        let chunk = chunk_len.checked_next_multiple_of(multiple).unwrap_or(usize::MAX);
        Self { start: range.start, end: range.end.max(range.start), origin, chunk_len: chunk }
    }

    /// The number of chunks.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        if self.start == self.end { 0 } else { (self.end - self.origin).div_ceil(self.chunk_len) }
    }

    /// The indices of the chunks with these numbers, together. The numbers are below `count()`.
    #[inline]
    pub(crate) fn indices(&self, numbers: Range<usize>) -> Range<usize> {
        self.start_of(numbers.start)..self.start_of(numbers.end)
    }

    /// The index at which chunk `number` begins; the end of the range for `number == count()`.
    #[inline]
    fn start_of(&self, number: usize) -> usize {
        let from_origin = number.saturating_mul(self.chunk_len).min(self.end - self.origin);
        (self.origin + from_origin).max(self.start)
    }
}

/// Block `id` of `range`, which is cut into contiguous blocks for `bees` bees: the static schedule. The blocks begin at
/// multiples of `multiple`, except where the range itself begins.
#[inline]
pub(crate) fn aligned_block(range: Range<usize>, multiple: usize, id: usize, bees: usize) -> Range<usize> {
    if multiple == 1 {
        return split::block(range, id, bees);
    }
    // Divide the multiples among the bees, then convert back to indices.
    let chunks = Chunks::new(&range, multiple, multiple);
    chunks.indices(split::block(0..chunks.count(), id, bees))
}

/// Groups the chunks of a loop into units, several chunks each where there are more chunks than the shared words can
/// number.
pub(crate) struct UnitMap {
    /// The number of chunks in the loop.
    chunks: usize,
    /// The number of chunks in a unit, except for the last unit, which may have fewer.
    pub(crate) chunks_per_unit: usize,
    /// The number of units.
    pub(crate) count: usize,
}

impl UnitMap {
    #[inline]
    pub(crate) fn new(chunks: usize, max_units: usize) -> Self {
        let chunks_per_unit = chunks.div_ceil(max_units).max(1);
        Self { chunks, chunks_per_unit, count: chunks.div_ceil(chunks_per_unit) }
    }

    /// The numbers of the chunks in these units.
    #[inline(always)]
    pub(crate) fn chunks_of(&self, units: Range<usize>) -> Range<usize> {
        units.start * self.chunks_per_unit..units.end.saturating_mul(self.chunks_per_unit).min(self.chunks)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunks(range: Range<usize>, chunk_len: usize, multiple: usize) -> Vec<Range<usize>> {
        let chunks = Chunks::new(&range, chunk_len, multiple);
        (0..chunks.count()).map(|i| chunks.indices(i..i + 1)).collect()
    }

    #[test]
    fn chunks_are_cut_at_multiples() {
        assert_eq!(chunks(3..20, 5, 1), [3..8, 8..13, 13..18, 18..20]);
        assert_eq!(chunks(3..20, 5, 8), [3..8, 8..16, 16..20]);
        assert_eq!(chunks(3..20, 9, 8), [3..16, 16..20]);
        assert_eq!(chunks(7..7, 5, 1), []);
        assert_eq!(
            chunks(usize::MAX - 3..usize::MAX, 2, 1),
            [usize::MAX - 3..usize::MAX - 1, usize::MAX - 1..usize::MAX]
        );
        assert_eq!(chunks(usize::MAX - 3..usize::MAX, usize::MAX, 64).len(), 1);
    }

    proptest! {
        #[test]
        fn chunks_cover_the_range_once(
            start in prop_oneof![0usize..1000, usize::MAX - 3000..usize::MAX - 2000], length in 0usize..2000,
            chunk in prop_oneof![1usize..100, Just(usize::MAX)], multiple in 1usize..70,
        ) {
            let range = start..start + length;
            let chunks = chunks(range.clone(), chunk, multiple);
            prop_assert_eq!(chunks.iter().map(Range::len).sum::<usize>(), length);
            let mut end = range.start;
            for chunk in &chunks {
                prop_assert_eq!(chunk.start, end);
                prop_assert!(chunk.start < chunk.end);
                prop_assert!(chunk.start == range.start || chunk.start % multiple == 0);
                end = chunk.end;
            }
        }
    }
}
