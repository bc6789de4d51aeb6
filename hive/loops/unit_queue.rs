//! What is left of a loop whose chunks get smaller: one place for all bees, because there are few chunks.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// Units of a loop are numbered below this.
pub(crate) const MAX_UNITS: usize = (1 << NEXT_BITS) - 1;

const NEXT_BITS: u32 = 48;

/// The round, as in a share, in the upper 16 bits, and below it the next unit.
pub(crate) struct UnitQueue(CachePadded<AtomicU64>);

// Relaxed throughout, for the reasons that `WorkRange` has.
impl UnitQueue {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }

    /// As new. Nobody else may be at it.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether `barriers_passed` is the last in which something was taken.
    pub(crate) fn is_in_round(&self, round: u16) -> bool {
        (self.0.load(Ordering::Relaxed) >> NEXT_BITS) as u16 == round
    }

    /// Takes the next units of `count`, as many as `claim_amount` says after so many.
    pub(crate) fn take(&self, round: u16, units: usize, amount: impl Fn(usize) -> usize) -> Option<Range<usize>> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let next = next_unit(word, round).filter(|next| *next < units)?;
            let end = next + amount(next).clamp(1, units - next);
            let new = (u64::from(round) << NEXT_BITS) | end as u64;
            match self.0.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(next..end),
                Err(other) => word = other,
            }
        }
    }
}

/// The next unit of `barriers_passed`; None if others are in a later round, so that this one has been dealt out.
fn next_unit(word: u64, round: u16) -> Option<usize> {
    let ahead = round.wrapping_sub((word >> NEXT_BITS) as u16) as i16;
    match ahead {
        0 => Some((word & MAX_UNITS as u64) as usize),
        1.. => Some(0),
        _ => None,
    }
}

/// `Guided`: after `next` of `count` units, for a team of `members`.
pub(crate) fn guided_len(next: usize, units: usize, bees: usize, min_len: usize) -> usize {
    (units - next).div_ceil(2 * bees).max(min_len)
}

/// `Factoring`: the chunk that begins with unit `next`.
pub(crate) fn factoring_len(next: usize, units: usize, bees: usize) -> usize {
    let mut begin = 0;
    loop {
        let chunk = (units - begin).div_ceil(2 * bees);
        let batch = chunk.saturating_mul(bees);
        if next - begin < batch {
            return chunk;
        }
        begin += batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(units: usize, amount: impl Fn(usize) -> usize) -> Vec<usize> {
        let queue = UnitQueue::new();
        std::iter::from_fn(|| queue.take(1, units, &amount)).map(|units| units.len()).collect()
    }

    #[test]
    fn guided_chunks_shrink_with_what_is_left() {
        assert_eq!(chunks(100, |next| guided_len(next, 100, 2, 1))[..6], [25, 19, 14, 11, 8, 6]);
        let bounded = chunks(100, |next| guided_len(next, 100, 2, 10));
        assert_eq!(bounded, [25, 19, 14, 11, 10, 10, 10, 1]);
    }

    #[test]
    fn factoring_deals_equal_chunks_to_all() {
        assert_eq!(chunks(100, |next| factoring_len(next, 100, 2)), [25, 25, 13, 13, 6, 6, 3, 3, 2, 2, 1, 1]);
        assert_eq!(chunks(1, |next| factoring_len(next, 1, 8)), [1]);
    }

    #[test]
    fn chunks_cover_the_largest_loop() {
        let all: usize = chunks(MAX_UNITS, |next| factoring_len(next, MAX_UNITS, 64)).iter().sum();
        assert_eq!(all, MAX_UNITS);
    }

    #[test]
    fn rounds_are_kept_apart_and_wrap() {
        let queue = UnitQueue::new();
        for round in 1..=200_000_u32 {
            assert_eq!(queue.take(round as u16, 5, |_| 5), Some(0..5), "round {round}");
            assert_eq!(queue.take(round as u16, 5, |_| 5), None);
        }
        assert_eq!(queue.take(199_999_u32 as u16, 5, |_| 5), None, "who is late finds nothing");
    }
}
