//! A range of indices cut into chunks of equal length. Pure arithmetic that does not overflow for any range up to
//! `usize::MAX`. Used by loops (`shared_loop.rs`) and tiles (`tiles.rs`).

use std::ops::Range;

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
