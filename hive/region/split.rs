//! Cuts a range into contiguous blocks of nearly equal length: which block belongs to which bee. `Bee::split` and the
//! static schedules use it.

use std::ops::Range;

/// Block number `index` of the `total` blocks of `range`. The blocks are contiguous, in order and without gaps; their
/// lengths differ by at most one, and the longer ones come first.
///
/// # Panics
/// In debug builds, if `index` is not below `total`.
#[inline]
pub(crate) fn block(range: Range<usize>, index: usize, total: usize) -> Range<usize> {
    debug_assert!(index < total, "block {index} of {total}");
    blocks(range, index..index + 1, total)
}

/// The adjacent blocks `indices` of `total`, as one range. If `indices` is empty, the result is an empty range at the
/// position where those blocks would be.
///
/// # Panics
/// In debug builds, if `indices` ends above `total`.
#[inline]
pub(crate) fn blocks(range: Range<usize>, indices: Range<usize>, total: usize) -> Range<usize> {
    debug_assert!(indices.end <= total, "blocks {indices:?} of {total}");
    let blocks = Blocks::of(&range, total);
    blocks.start(indices.start)..blocks.start(indices.end)
}

/// The blocks of a range, for who asks for many of them: each takes no division.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    start: usize,
    least: usize,
    /// The first blocks, so many, have one element more than `least`.
    longer_blocks: usize,
}

impl Blocks {
    /// `total`: as in [`block`], or 0, if none is asked for.
    #[inline]
    pub(crate) fn of(range: &Range<usize>, total: usize) -> Self {
        let (length, total) = (range.len(), total.max(1));
        Self { start: range.start, least: length / total, longer_blocks: length % total }
    }

    /// The block with this number.
    #[inline]
    pub(crate) fn get(self, index: usize) -> Range<usize> {
        self.start(index)..self.start(index + 1)
    }

    /// Where the block begins. (This does not overflow: the sum is at most the end of the range.)
    #[inline]
    fn start(self, index: usize) -> usize {
        self.start + index * self.least + index.min(self.longer_blocks)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longer_blocks_come_first() {
        let blocks: Vec<_> = (0..4).map(|id| block(10..20, id, 4)).collect();
        assert_eq!(blocks, [10..13, 13..16, 16..18, 18..20]);
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn an_empty_range_gives_empty_blocks() {
        assert!((0..3).all(|id| block(5..5, id, 3).is_empty()));
        assert!((0..3).all(|id| block(9..2, id, 3).is_empty()));
    }

    #[test]
    fn the_largest_range_does_not_overflow() {
        assert_eq!(block(0..usize::MAX, 65_534, 65_535).end, usize::MAX);
    }

    proptest! {
        #[test]
        fn blocks_are_contiguous_and_nearly_equal(
            start in 0usize..1 << 40, length in 0usize..1 << 40, count in 1usize..65_536
        ) {
            let range = start..start + length;
            let lengths = [length / count, length.div_ceil(count)];
            let mut end = start;
            // Only the first and the last few blocks: all 65,535 would be slow.
            for id in (0..count).filter(|id| *id < 20 || *id > count - 20) {
                let part = block(range.clone(), id, count);
                prop_assert!(lengths.contains(&part.len()));
                if id < 20 {
                    prop_assert_eq!(part.start, end);
                    end = part.end;
                }
                if id == count - 1 {
                    prop_assert_eq!(part.end, range.end);
                }
            }
        }
    }
}
