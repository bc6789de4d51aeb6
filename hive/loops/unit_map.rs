//! Chunks in units, as many as the shared words can number.

use std::ops::Range;

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
