//! A pipeline's indices in shares, one a member: each takes from the front of its own, in ever smaller pieces, and then half of what the richest has left.
//!
//! The shares are those of the hive's own loops. What differs is that a member asks for its next indices, as an iterator does, and may leave before there are none left.

use std::ops::Range;

use crate::loops::{MOST_UNITS, Share};
use crate::split;

/// A member takes this part of what its share has left, so that others may still have most of it.
const PIECES: u32 = 8;

/// The one round that a pipeline has.
const ROUND: u16 = 0;

/// What a share begins with in rounds to come: there are none.
const NOTHING: Range<u32> = 0..0;

/// The indices below a length that nobody has taken yet.
pub(super) struct Shares {
    shares: Box<[Share]>,
    len: usize,
    /// Indices a unit, which shares are counted in.
    grain: usize,
}

impl Shares {
    /// All indices below `len`, in equal shares for `members` members.
    pub(super) fn new(len: usize, members: usize) -> Self {
        let grain = len.div_ceil(MOST_UNITS).max(1);
        let units = len.div_ceil(grain);
        let share = |member| {
            let block = split::block(0..units, member, members);
            Share::with(ROUND, &(block.start as u32..block.end as u32))
        };
        Self { shares: (0..members).map(share).collect(), len, grain }
    }

    /// The next indices for `member`, its own or another's; None: all are taken.
    pub(super) fn take(&self, member: usize) -> Option<Range<usize>> {
        self.take_own(member, front).or_else(|| self.steal(member))
    }

    /// All that is left of the share of `member`.
    pub(super) fn take_rest(&self, member: usize) -> Option<Range<usize>> {
        self.take_own(member, |left| left)
    }

    /// Takes as much from the front of the share of `member` as `amount` says of what is left.
    fn take_own(&self, member: usize, amount: impl Fn(u32) -> u32) -> Option<Range<usize>> {
        self.shares[member].claim(ROUND, &NOTHING, amount).map(|units| self.indices(units))
    }

    /// Takes half of the largest share, whose front piece is for now, and the rest of it the new share of `member`, which has none left.
    #[cold]
    fn steal(&self, member: usize) -> Option<Range<usize>> {
        loop {
            let left = |other: usize| self.shares[other].left(ROUND, &NOTHING).len();
            let (most, richest) = (0..self.shares.len()).map(|other| (left(other), other)).max()?;
            if most == 0 {
                return None;
            }
            let Some(taken) = self.shares[richest].steal(ROUND, &NOTHING) else { continue };
            let middle = taken.start + front(taken.end - taken.start);
            let is_put = self.shares[member].put(ROUND, &(middle..taken.end));
            debug_assert!(is_put, "nobody is in another round");
            return Some(self.indices(taken.start..middle));
        }
    }

    fn indices(&self, units: Range<u32>) -> Range<usize> {
        // No overflow: the last unit may be short, and is the only one that may end beyond the length.
        let index = |unit: u32| (unit as usize).checked_mul(self.grain).map_or(self.len, |index| index.min(self.len));
        index(units.start)..index(units.end)
    }
}

/// How much of a share is one piece.
fn front(left: u32) -> u32 {
    left.div_ceil(PIECES)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Everything that `member` gets when it is alone.
    fn all_of(shares: &Shares, member: usize) -> Vec<Range<usize>> {
        std::iter::from_fn(|| shares.take(member)).collect()
    }

    #[test]
    fn one_member_takes_everything_in_falling_pieces() {
        let mut taken = all_of(&Shares::new(1000, 1), 0);
        assert!(taken.is_sorted_by(|a, b| a.end == b.start && a.len() >= b.len()), "{taken:?}");
        assert_eq!((taken[0].clone(), taken.pop().unwrap()), (0..125, 999..1000));
    }

    #[test]
    fn the_first_piece_is_of_the_own_share_and_the_others_are_got_too() {
        for (len, members) in [(0, 3), (1, 3), (7, 3), (1000, 3), (1000, 7)] {
            let shares = Shares::new(len, members);
            let mut taken = all_of(&shares, members - 1);
            let own = split::block(0..len, members - 1, members);
            assert!(own.is_empty() || taken[0].start == own.start, "{len} of {members}: {taken:?}");
            taken.sort_by_key(|range| range.start);
            assert!(taken.into_iter().flatten().eq(0..len));
            assert!((0..members).all(|member| shares.take(member).is_none()));
        }
    }

    #[test]
    fn the_rest_of_a_share_is_taken_once() {
        let shares = Shares::new(100, 2);
        assert_eq!(shares.take(1), Some(50..57));
        assert_eq!((shares.take_rest(1), shares.take_rest(1)), (Some(57..100), None));
        assert_eq!(all_of(&shares, 1).iter().map(Range::len).sum::<usize>(), 50);
    }

    #[test]
    fn lengths_of_more_indices_than_units_are_in_larger_units() {
        for len in [MOST_UNITS, MOST_UNITS + 1, (1 << 40) + 12_345, usize::MAX] {
            let shares = Shares::new(len, 3);
            let mut taken: Vec<_> = (0..3).filter_map(|member| shares.take_rest(member)).collect();
            taken.sort_by_key(|range| range.start);
            assert_eq!((taken.len(), taken[0].start, taken[2].end), (3, 0, len));
            assert!(taken.windows(2).all(|pair| pair[0].end == pair[1].start), "{taken:?}");
        }
    }

    #[test]
    fn stress_each_index_goes_to_one_of_several_members() {
        const LEN: usize = 20_000;
        for _ in 0..20 {
            let shares = Shares::new(LEN, 4);
            let (shares, mut taken) = (&shares, Vec::new());
            thread::scope(|scope| {
                let members: Vec<_> = (0..4).map(|member| scope.spawn(move || all_of(shares, member))).collect();
                members.into_iter().for_each(|member| taken.extend(member.join().unwrap()));
            });
            taken.sort_by_key(|range| range.start);
            assert!(taken.into_iter().flatten().eq(0..LEN));
        }
    }
}
