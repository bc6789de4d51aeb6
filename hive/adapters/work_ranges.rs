//! `WorkRanges`: the indices of a pipeline, in one block for each bee. A bee takes from the front of its own block, in
//! ever smaller pieces, and then steals half of the largest block.
//!
//! The paralight adapter uses it. The blocks are the `WorkRange`s of the hive's own loops (`loops/work_range.rs`). Two
//! things differ from a loop: a bee asks for its next indices, as an iterator does, and it may stop before none are
//! left.

use std::ops::Range;

use crate::loops::chunks::UnitMap;
use crate::loops::dispatch::Dispatch;
use crate::loops::work_range::{MAX_UNITS, WorkRange};

/// A bee claims this fraction, one eighth, of what its block has left. The rest stays in the block for other bees to
/// steal.
const CLAIM_DIVISOR: u32 = 8;

/// The number of the only round that a pipeline has. A loop's ranges are used for many rounds.
const ROUND: u16 = 0;

/// The block for rounds to come, which `WorkRange` asks for. There are none.
const NO_BLOCK: Range<u32> = 0..0;

/// The indices below a length that no bee has taken yet.
pub(crate) struct WorkRanges {
    /// One block for each bee, in units.
    ranges: Box<[WorkRange]>,
    /// The indices in units. A unit is one index unless there are more indices than a `WorkRange` can count.
    units: UnitMap,
}

impl WorkRanges {
    /// All indices below `len`, in equal blocks for `bees` bees.
    pub(crate) fn new(len: usize, bees: usize) -> Self {
        let units = UnitMap::new(len, MAX_UNITS);
        let range = |bee| WorkRange::with_units(ROUND, &Dispatch::block(bee as u32, bees, units.count as u32));
        Self { ranges: (0..bees).map(range).collect(), units }
    }

    /// The next indices for `bee`, from its own block or stolen from another. None: all indices are taken.
    pub(crate) fn claim(&self, bee: usize) -> Option<Range<usize>> {
        self.claim_own(bee, claim_amount).or_else(|| self.steal(bee))
    }

    /// All that is left of the block of `bee`.
    pub(crate) fn claim_rest(&self, bee: usize) -> Option<Range<usize>> {
        self.claim_own(bee, |left| left)
    }

    /// Takes indices from the front of the block of `bee`. `amount` says how many units, given how many are left.
    fn claim_own(&self, bee: usize, amount: impl Fn(u32) -> u32) -> Option<Range<usize>> {
        self.ranges[bee].claim(ROUND, &NO_BLOCK, amount).map(|units| self.indices_of(units))
    }

    /// Takes half of the largest block. Returns the first piece of that half; the rest becomes the new block of `bee`,
    /// whose own block must be empty.
    #[cold]
    fn steal(&self, bee: usize) -> Option<Range<usize>> {
        loop {
            let remaining = |other: usize| self.ranges[other].remaining(ROUND, &NO_BLOCK).len();
            let (len, victim) = (0..self.ranges.len()).map(|other| (remaining(other), other)).max()?;
            if len == 0 {
                return None;
            }
            // Another bee may have taken the last of that block meanwhile; then look again.
            let Some(taken) = self.ranges[victim].steal(ROUND, &NO_BLOCK) else { continue };
            let middle = taken.start + claim_amount(taken.end - taken.start);
            // The own block is empty, so no other bee can take from it, and the new one can simply be stored.
            let is_published = self.ranges[bee].publish(ROUND, &(middle..taken.end));
            debug_assert!(is_published, "nobody is in another round");
            return Some(self.indices_of(taken.start..middle));
        }
    }

    fn indices_of(&self, units: Range<u32>) -> Range<usize> {
        self.units.chunks_of(units.start as usize..units.end as usize)
    }
}

/// How many units a bee claims at once, of a block with `remaining` units.
fn claim_amount(remaining: u32) -> u32 {
    remaining.div_ceil(CLAIM_DIVISOR)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::region::split;

    /// Everything that `bee` gets when no other bee takes anything.
    fn drain(ranges: &WorkRanges, bee: usize) -> Vec<Range<usize>> {
        std::iter::from_fn(|| ranges.claim(bee)).collect()
    }

    #[test]
    fn one_bee_claims_everything_in_falling_pieces() {
        let mut taken = drain(&WorkRanges::new(1000, 1), 0);
        assert!(taken.is_sorted_by(|a, b| a.end == b.start && a.len() >= b.len()), "{taken:?}");
        assert_eq!((taken[0].clone(), taken.pop().unwrap()), (0..125, 999..1000));
    }

    #[test]
    fn the_first_piece_is_of_the_own_range_and_the_others_are_stolen() {
        for (len, bees) in [(0, 3), (1, 3), (7, 3), (1000, 3), (1000, 7)] {
            let ranges = WorkRanges::new(len, bees);
            let mut taken = drain(&ranges, bees - 1);
            let own = split::block(0..len, bees - 1, bees);
            assert!(own.is_empty() || taken[0].start == own.start, "{len} of {bees}: {taken:?}");
            taken.sort_by_key(|range| range.start);
            assert!(taken.into_iter().flatten().eq(0..len));
            assert!((0..bees).all(|bee| ranges.claim(bee).is_none()));
        }
    }

    #[test]
    fn the_rest_of_a_range_is_claimed_once() {
        let ranges = WorkRanges::new(100, 2);
        assert_eq!(ranges.claim(1), Some(50..57));
        assert_eq!((ranges.claim_rest(1), ranges.claim_rest(1)), (Some(57..100), None));
        assert_eq!(drain(&ranges, 1).iter().map(Range::len).sum::<usize>(), 50);
    }

    #[test]
    fn lengths_of_more_indices_than_units_are_in_larger_units() {
        for len in [MAX_UNITS, MAX_UNITS + 1, (1 << 40) + 12_345, usize::MAX] {
            let ranges = WorkRanges::new(len, 3);
            let mut taken: Vec<_> = (0..3).filter_map(|bee| ranges.claim_rest(bee)).collect();
            taken.sort_by_key(|range| range.start);
            assert_eq!((taken.len(), taken[0].start, taken[2].end), (3, 0, len));
            assert!(taken.windows(2).all(|pair| pair[0].end == pair[1].start), "{taken:?}");
        }
    }

    #[test]
    fn stress_each_index_goes_to_one_of_several_bees() {
        const LEN: usize = 20_000;
        for _ in 0..20 {
            let ranges = WorkRanges::new(LEN, 4);
            let (ranges, mut taken) = (&ranges, Vec::new());
            thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|bee| scope.spawn(move || drain(ranges, bee))).collect();
                threads.into_iter().for_each(|thread| taken.extend(thread.join().unwrap()));
            });
            taken.sort_by_key(|range| range.start);
            assert!(taken.into_iter().flatten().eq(0..LEN));
        }
    }
}
