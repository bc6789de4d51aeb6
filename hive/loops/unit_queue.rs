//! The queue of a `Guided` or `Factoring` loop: the first unit that is not taken yet. All bees take their units from
//! this one word, which is cheap enough because these schedules have few chunks. Called by `Loop::run_queue`. Part of
//! the loop protocol, which is described in `docs/loops.md`.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// The largest number of units in a loop under these schedules. A unit's number fits into `NEXT_BITS` bits, and so does
/// the end of the last unit.
pub(crate) const MAX_UNITS: usize = usize::MAX >> usize::BITS.saturating_sub(NEXT_BITS);

/// The width of the field `next` of the word.
const NEXT_BITS: u32 = 48;

/// What is left of a loop, in one word, which every bee of the team changes by an exchange of the whole word:
///
/// ```text
///   63        48 47                              0
///  ┌────────────┬─────────────────────────────────┐
///  │   round    │              next               │
///  └────────────┴─────────────────────────────────┘
/// ```
///
/// - `round`: the round of the loop that `next` belongs to. Rounds are compared as in a `WorkRange`.
/// - `next`: the first unit that no bee has taken yet.
pub(crate) struct UnitQueue(CachePadded<AtomicU64>);

// All operations are Relaxed, for the same reason as those of `WorkRange`: a unit is only a number, and taking one
// hands over nothing else. That no unit is taken twice follows from the single order of the word's changes.
impl UnitQueue {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }

    /// Puts the queue into its initial state: round 0, the one before the first. No other bee may be using it.
    pub(crate) fn reset(&self) {
        // Relaxed: what hands the words to their next users also orders this store.
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether `round` is the last round in which a unit was taken.
    pub(crate) fn is_in_round(&self, round: u16) -> bool {
        // Relaxed: called after the region, whose end orders the bees' changes before this load.
        (self.0.load(Ordering::Relaxed) >> NEXT_BITS) as u16 == round
    }

    /// Takes the next units of a round with `units` units: as many as `amount` returns for the number of the first of
    /// them, but at least one and no more than there are. None: all units of this round have been taken.
    pub(crate) fn take(&self, round: u16, units: usize, amount: impl Fn(usize) -> usize) -> Option<Range<usize>> {
        // Relaxed: only an attempt. The exchange below fails if the word has changed since.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            // In an earlier round's word, this round begins with unit 0.
            let next = next_unit(word, round).filter(|next| *next < units)?;
            let end = next + amount(next).clamp(1, units - next);
            let new = (u64::from(round) << NEXT_BITS) | end as u64;
            // Relaxed, both: no partner. A success is one step in the word's single order of changes; a failure is
            // tried again.
            match self.0.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(next..end),
                Err(other) => word = other,
            }
        }
    }
}

/// The next unit of `round` by this word. 0 if the word is of an earlier round: the units of that round have all been
/// taken, so this round may begin. None if the word is of a later round: then the units of this round have all been
/// taken.
fn next_unit(word: u64, round: u16) -> Option<usize> {
    let ahead = round.wrapping_sub((word >> NEXT_BITS) as u16) as i16;
    match ahead {
        0 => Some((word & MAX_UNITS as u64) as usize),
        1.. => Some(0),
        _ => None,
    }
}

/// The length of a `Guided` chunk that begins with unit `next` of `units`, for a team of `bees`, and with a minimum
/// length of `min_len`. May be longer than what is left.
pub(crate) fn guided_len(next: usize, units: usize, bees: usize, min_len: usize) -> usize {
    (units - next).div_ceil(2 * bees).max(min_len)
}

/// The length of the `Factoring` chunk that contains unit `next` of `units`, for a team of `bees`. Chunks come in
/// batches of `bees` equal chunks; the function walks from batch to batch until it finds the one with `next` in it.
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
