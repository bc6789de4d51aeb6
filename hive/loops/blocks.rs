//! A range in blocks, one for each bee: the static schedule.

use std::ops::Range;

use crate::loops::chunks::Chunks;
use crate::region::split;

/// A range cut into contiguous blocks, one for each bee.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    start: usize,
    end: usize,
    multiple: usize,
}

impl Blocks {
    /// Blocks of `range` that begin at multiples of `multiple`, except where the range itself begins.
    #[inline]
    pub(crate) fn new(range: Range<usize>, multiple: usize) -> Self {
        Self { start: range.start, end: range.end, multiple }
    }

    /// The block of bee `id` in a team of `bees`.
    #[inline]
    pub(crate) fn of(self, id: usize, bees: usize) -> Range<usize> {
        let range = self.start..self.end;
        if self.multiple == 1 {
            return split::block(range, id, bees);
        }
        // Divide the multiples among the bees, then convert back to indices.
        let chunks = Chunks::new(&range, self.multiple, self.multiple);
        chunks.indices(split::block(0..chunks.count(), id, bees))
    }
}
