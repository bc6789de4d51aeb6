//! How rows are divided among ranks. A fixed reduction cuts the rows into blocks, which depend on the number of rows
//! only, and each rank has whole blocks. So a block is summed up by one rank, just as a single process would do it.

use std::ops::Range;

use ::mpi::{Count, Rank};
use hive::{Deterministic, Reduction};

use super::ranks::message_len;

/// The sum whose blocks these are.
pub(super) fn addition(blocks: usize) -> Reduction<Deterministic, f64, impl Fn(f64, f64) -> f64 + Copy> {
    Reduction::deterministic(0.0, |a, b| a + b).blocks(blocks)
}

/// A rank's share of all rows, which are dealt out to the ranks in order.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) own: Range<usize>,
    /// The ranks that have the rows just above and below, if this one has rows.
    pub(super) neighbours: [Option<Rank>; 2],
    /// This rank's blocks, its first row being 0.
    pub(super) blocks: Vec<Range<usize>>,
    /// How many blocks each rank has.
    pub(super) counts: Vec<Count>,
}

impl Rows {
    /// Each rank's share ends with the block in which an equal share would.
    pub(super) fn deal(all: usize, blocks: usize, rank: usize, ranks: usize) -> Self {
        let blocks: Vec<_> = addition(blocks).blocks_of(0..all).collect();
        let first_of = |rank| blocks.partition_point(|block| block.start < rank * all / ranks);
        let firsts: Vec<usize> = (0..ranks).map(first_of).chain([blocks.len()]).collect();
        let begin_of = |first: &usize| blocks.get(*first).map_or(all, |block| block.start);
        let bounds: Vec<usize> = firsts.iter().map(begin_of).collect();
        let own = bounds[rank]..bounds[rank + 1];
        let owner = |row: usize| {
            let has_rows = !own.is_empty() && row < all;
            has_rows.then(|| bounds.partition_point(|bound| *bound <= row) as Rank - 1)
        };
        let of_rank = &blocks[firsts[rank]..firsts[rank + 1]];
        Self {
            neighbours: [own.start.checked_sub(1).and_then(owner), owner(own.end)],
            blocks: of_rank.iter().map(|block| block.start - own.start..block.end - own.start).collect(),
            counts: firsts.windows(2).map(|pair| message_len(pair[1] - pair[0])).collect(),
            own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_differ_by_less_than_two_blocks() {
        // 144 blocks of two rows, then 112 of one.
        let lens = |ranks| (0..ranks).map(|rank| Rows::deal(400, 256, rank, ranks).own.len()).collect::<Vec<_>>();
        assert_eq!(lens(2), [200, 200]);
        assert_eq!(lens(3), [134, 132, 134]);
        assert_eq!(lens(1000).iter().filter(|len| **len > 0).count(), 256);
    }

    #[test]
    fn ranks_have_whole_blocks_one_after_the_other() {
        for (all, blocks, ranks) in [(1000, 256, 4), (10, 256, 3), (7, 2, 5), (1, 256, 2), (100, 16, 1)] {
            let sum = addition(blocks);
            let deals: Vec<_> = (0..ranks).map(|rank| Rows::deal(all, blocks, rank, ranks)).collect();
            let begin = |rows: &Rows, block: &Range<usize>| block.start + rows.own.start..block.end + rows.own.start;
            let dealt = deals.iter().flat_map(|rows| rows.blocks.iter().map(|block| begin(rows, block)));
            assert!(dealt.eq(sum.blocks_of(0..all)), "{all} rows in {blocks} blocks by {ranks} ranks");
            for (rank, rows) in deals.iter().enumerate() {
                assert_eq!(rows.counts[rank] as usize, rows.blocks.len());
            }
            let with_rows: Vec<_> = (0..).zip(&deals).filter(|(_, rows)| !rows.own.is_empty()).collect();
            assert_eq!((with_rows[0].1.neighbours[0], with_rows[with_rows.len() - 1].1.neighbours[1]), (None, None));
            for pair in with_rows.windows(2) {
                let [(above, upper), (below, lower)] = [pair[0], pair[1]];
                assert_eq!((upper.neighbours[1], lower.neighbours[0]), (Some(below), Some(above)));
            }
        }
    }
}
