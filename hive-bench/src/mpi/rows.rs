//! How rows are divided among ranks. A fixed reduction cuts the rows into blocks, which depend on the number of rows
//! only, and each rank has whole blocks. So a block is summed up by one rank, just as a single process would do it.

use std::ops::Range;

use ::mpi::Count;
use hive::{Deterministic, Reduction};

use super::ranks::message_len;
use crate::kernels::split;

/// The sum whose blocks these are.
pub(super) fn addition(blocks: usize) -> Reduction<Deterministic, f64, impl Fn(f64, f64) -> f64 + Copy> {
    Reduction::deterministic(0.0, |a, b| a + b).blocks(blocks)
}

/// All rows, in blocks that are dealt out to the ranks in order.
#[derive(Debug)]
pub(super) struct Rows {
    rank: usize,
    /// Where each rank's rows begin, and where the last one's end.
    bounds: Vec<usize>,
    /// This rank's, its first row being 0.
    blocks: Vec<Range<usize>>,
    /// How many blocks each rank has.
    counts: Vec<Count>,
}

impl Rows {
    /// Each rank's share ends with the block in which an equal share would.
    pub(super) fn deal(all: usize, blocks: usize, rank: usize, ranks: usize) -> Self {
        let blocks: Vec<_> = addition(blocks).blocks_of(0..all).collect();
        let first_of = |rank| blocks.partition_point(|block| block.start < split(rank, ranks, all).start);
        let firsts: Vec<usize> = (0..ranks).map(first_of).chain([blocks.len()]).collect();
        let begin_of = |block: usize| blocks.get(block).map_or(all, |block| block.start);
        let begin = begin_of(firsts[rank]);
        let own = &blocks[firsts[rank]..firsts[rank + 1]];
        Self {
            rank,
            bounds: firsts.iter().map(|first| begin_of(*first)).collect(),
            blocks: own.iter().map(|block| block.start - begin..block.end - begin).collect(),
            counts: firsts.windows(2).map(|pair| message_len(pair[1] - pair[0])).collect(),
        }
    }

    /// This rank's.
    pub(super) fn own(&self) -> Range<usize> {
        self.bounds[self.rank]..self.bounds[self.rank + 1]
    }

    /// Of all ranks.
    pub(super) fn all(&self) -> usize {
        self.bounds[self.bounds.len() - 1]
    }

    /// The rank that has a row.
    pub(super) fn owner(&self, row: usize) -> usize {
        self.bounds.partition_point(|bound| *bound <= row) - 1
    }

    /// This rank's blocks, its first row being 0.
    pub(super) fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    /// How many blocks each rank has.
    pub(super) fn counts(&self) -> &[Count] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_differ_by_less_than_two_blocks() {
        // 144 blocks of two rows, then 112 of one.
        let lens = |ranks| (0..ranks).map(|rank| Rows::deal(400, 256, rank, ranks).own().len()).collect::<Vec<_>>();
        assert_eq!(lens(2), [200, 200]);
        assert_eq!(lens(3), [134, 134, 132]);
        assert_eq!(lens(1000).iter().filter(|len| **len > 0).count(), 256);
    }

    #[test]
    fn ranks_have_whole_blocks_one_after_the_other() {
        for (all, blocks, ranks) in [(1000, 256, 4), (10, 256, 3), (7, 2, 5), (1, 256, 2), (100, 16, 1)] {
            let sum = addition(blocks);
            let deals: Vec<_> = (0..ranks).map(|rank| Rows::deal(all, blocks, rank, ranks)).collect();
            let begin =
                |rows: &Rows, block: &Range<usize>| block.start + rows.own().start..block.end + rows.own().start;
            let dealt = deals.iter().flat_map(|rows| rows.blocks().iter().map(|block| begin(rows, block)));
            assert!(dealt.eq(sum.blocks_of(0..all)), "{all} rows in {blocks} blocks by {ranks} ranks");
            for (rank, rows) in deals.iter().enumerate() {
                assert_eq!((rows.all(), rows.counts()[rank] as usize), (all, rows.blocks().len()));
                assert!(rows.own().all(|row| deals[0].owner(row) == rank));
            }
        }
    }
}
