//! What is left of a loop whose chunks get smaller: one place for all members, because there are few chunks.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// Units of a loop are numbered below this.
pub(super) const MOST_UNITS: usize = (1 << NEXT_BITS) - 1;

const NEXT_BITS: u32 = 48;

/// The round, as in a share, in the upper 16 bits, and below it the next unit.
pub(super) struct Queue(CachePadded<AtomicU64>);

// Relaxed throughout, for the reasons that `Share` has.
impl Queue {
    pub(super) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }

    /// As new. Nobody else may be at it.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether `round` is the last in which something was taken.
    pub(super) fn is_in(&self, round: u16) -> bool {
        (self.0.load(Ordering::Relaxed) >> NEXT_BITS) as u16 == round
    }

    /// Takes the next units of `count`, as many as `amount` says after so many.
    pub(super) fn take(&self, round: u16, count: usize, amount: impl Fn(usize) -> usize) -> Option<Range<usize>> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let next = next_in(word, round).filter(|next| *next < count)?;
            let end = next + amount(next).clamp(1, count - next);
            let new = (u64::from(round) << NEXT_BITS) | end as u64;
            match self.0.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(next..end),
                Err(other) => word = other,
            }
        }
    }
}

/// The next unit of `round`; None if others are in a later round, so that this one has been dealt out.
fn next_in(word: u64, round: u16) -> Option<usize> {
    let ahead = round.wrapping_sub((word >> NEXT_BITS) as u16) as i16;
    match ahead {
        0 => Some((word & MOST_UNITS as u64) as usize),
        1.. => Some(0),
        _ => None,
    }
}

/// `Guided`: after `next` of `count` units, for a team of `members`.
pub(super) fn guided(next: usize, count: usize, members: usize, least: usize) -> usize {
    (count - next).div_ceil(2 * members).max(least)
}

/// `Factoring`: the chunk that begins with unit `next`.
pub(super) fn factoring(next: usize, count: usize, members: usize) -> usize {
    let mut begin = 0;
    loop {
        let chunk = (count - begin).div_ceil(2 * members);
        let batch = chunk.saturating_mul(members);
        if next - begin < batch {
            return chunk;
        }
        begin += batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(count: usize, amount: impl Fn(usize) -> usize) -> Vec<usize> {
        let queue = Queue::new();
        std::iter::from_fn(|| queue.take(1, count, &amount)).map(|units| units.len()).collect()
    }

    #[test]
    fn guided_chunks_shrink_with_what_is_left() {
        assert_eq!(chunks(100, |next| guided(next, 100, 2, 1))[..6], [25, 19, 14, 11, 8, 6]);
        let least = chunks(100, |next| guided(next, 100, 2, 10));
        assert_eq!(least, [25, 19, 14, 11, 10, 10, 10, 1]);
    }

    #[test]
    fn factoring_deals_equal_chunks_to_all() {
        assert_eq!(chunks(100, |next| factoring(next, 100, 2)), [25, 25, 13, 13, 6, 6, 3, 3, 2, 2, 1, 1]);
        assert_eq!(chunks(1, |next| factoring(next, 1, 8)), [1]);
    }

    #[test]
    fn chunks_cover_the_largest_loop() {
        let all: usize = chunks(MOST_UNITS, |next| factoring(next, MOST_UNITS, 64)).iter().sum();
        assert_eq!(all, MOST_UNITS);
    }

    #[test]
    fn rounds_are_kept_apart_and_wrap() {
        let queue = Queue::new();
        for round in 1..=200_000_u32 {
            assert_eq!(queue.take(round as u16, 5, |_| 5), Some(0..5), "round {round}");
            assert_eq!(queue.take(round as u16, 5, |_| 5), None);
        }
        assert_eq!(queue.take(199_999_u32 as u16, 5, |_| 5), None, "who is late finds nothing");
    }
}
