//! What one bee has left of a loop whose chunks go to whoever comes for them: a range of units in one word, taken from at the front by
//! its bee and at the back by the others.

use std::ops::Range;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Units of a loop are numbered below this.
pub(crate) const MAX_UNITS: usize = (1 << RangeWord::UNIT_BITS) - 1;

/// What is left, and of which of the loop's rounds.
///
/// ```text
///   63        48 47             24 23              0
///  ┌────────────┬─────────────────┬─────────────────┐
///  │   round    │      next       │       end       │
///  └────────────┴─────────────────┴─────────────────┘
/// ```
///
/// A loop may be run again and again, and without a barrier between two rounds one bee may be in the next while others are in this one. The round keeps them
/// apart. Of rounds whose numbers are less than 2^15 apart it is known which comes first; `LoopState` sees that no others meet in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RangeWord(u64);

impl RangeWord {
    const UNIT_BITS: u32 = 24;
    const ROUND_SHIFT: u32 = 2 * Self::UNIT_BITS;

    fn new(round: u16, remaining: &Range<u32>) -> Self {
        debug_assert!(remaining.start <= remaining.end && remaining.end as usize <= MAX_UNITS, "{remaining:?}");
        Self(
            (u64::from(round) << Self::ROUND_SHIFT)
                | (u64::from(remaining.start) << Self::UNIT_BITS)
                | u64::from(remaining.end),
        )
    }

    fn round(self) -> u16 {
        (self.0 >> Self::ROUND_SHIFT) as u16
    }

    fn remaining(self) -> Range<u32> {
        let unit = |bits: u64| (bits & MAX_UNITS as u64) as u32;
        unit(self.0 >> Self::UNIT_BITS)..unit(self.0)
    }

    /// What is left in `barriers_passed`, in which the bee begins with `block`. Empty where the share is in a later round already, or still has something left of an
    /// earlier one, which whoever is ahead of the bee must leave alone; and no round must be left out, or the bee would find its block of that gone.
    fn remaining_in(self, round: u16, block: &Range<u32>) -> Range<u32> {
        let ahead = round.wrapping_sub(self.round()) as i16;
        match ahead {
            0 => self.remaining(),
            1 if self.remaining().is_empty() => block.clone(),
            _ => 0..0,
        }
    }
}

/// A bee's share of a loop. The word, alone in its cache lines but for what its bee needs with it.
#[repr(align(128))]
pub(crate) struct WorkRange {
    word: AtomicU64,
    /// Whether its bee is in the middle of several units that it has claimed at once.
    in_batch: AtomicBool,
    /// Whether somebody else has nothing to do and asks for what is left of those.
    is_rest_requested: AtomicBool,
    /// The rounds that its bee has begun, and 1 more than the number of the set of words that it is in; 0: in none of
    /// the later ones. Touched by it alone, in the words of the first generation.
    rounds: AtomicU64,
    buffer: AtomicU32,
}

// Relaxed throughout: units are numbers, and to have taken some hands over nothing else. What the bees work on is kept apart by the start and the end of
// the region and by its barriers. That no unit is taken twice is due to the word's single order of changes alone.
impl WorkRange {
    pub(crate) fn new() -> Self {
        Self::with_units(0, &(0..0))
    }

    /// One with these units left.
    pub(crate) fn with_units(round: u16, units: &Range<u32>) -> Self {
        Self {
            word: AtomicU64::new(RangeWord::new(round, units).0),
            in_batch: AtomicBool::new(false),
            is_rest_requested: AtomicBool::new(false),
            rounds: AtomicU64::new(0),
            buffer: AtomicU32::new(0),
        }
    }

    /// As new. Nobody else may be at it.
    pub(crate) fn reset(&self) {
        self.word.store(0, Ordering::Relaxed);
        self.in_batch.store(false, Ordering::Relaxed);
        self.is_rest_requested.store(false, Ordering::Relaxed);
        self.rounds.store(0, Ordering::Relaxed);
        self.buffer.store(0, Ordering::Relaxed);
    }

    /// Whether `barriers_passed` is the last that it was in.
    pub(crate) fn is_in_round(&self, round: u16) -> bool {
        RangeWord(self.word.load(Ordering::Relaxed)).round() == round
    }

    /// Counts a round of its bee's, and returns the number of those before.
    pub(crate) fn count_round(&self) -> u64 {
        let rounds = self.rounds.load(Ordering::Relaxed);
        self.rounds.store(rounds + 1, Ordering::Relaxed);
        rounds
    }

    /// The set of words that its bee is in, if it is in one of the later ones.
    pub(crate) fn buffer(&self) -> Option<u32> {
        self.buffer.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Its bee goes to this one.
    pub(crate) fn set_buffer(&self, buffer: u32) {
        self.buffer.store(buffer + 1, Ordering::Relaxed);
    }

    /// Its bee gives up what it has left of the round before `barriers_passed`, which it has left by a panic that its body caught.
    pub(crate) fn discard_before(&self, round: u16) {
        self.claim(round.wrapping_sub(1), &(0..0), |left| left);
    }

    /// How much is left in `barriers_passed`.
    pub(crate) fn remaining(&self, round: u16, block: &Range<u32>) -> Range<u32> {
        RangeWord(self.word.load(Ordering::Relaxed)).remaining_in(round, block)
    }

    /// Its bee takes units from the front: as many as `claim_amount` says of how many are left.
    pub(crate) fn claim(&self, round: u16, block: &Range<u32>, amount: impl Fn(u32) -> u32) -> Option<Range<u32>> {
        self.take_part(round, block, |left| {
            let middle = left.start + amount(left.end - left.start).clamp(1, left.end - left.start);
            (left.start..middle, middle..left.end)
        })
    }

    /// Another bee takes half of the units from the back, or the last.
    pub(crate) fn steal(&self, round: u16, block: &Range<u32>) -> Option<Range<u32>> {
        self.take_part(round, block, |left| {
            let middle = left.start + (left.end - left.start) / 2;
            (middle..left.end, left.start..middle)
        })
    }

    /// Takes what `split` takes of what is left, and leaves what it leaves.
    fn take_part(
        &self,
        round: u16,
        block: &Range<u32>,
        split: impl Fn(Range<u32>) -> (Range<u32>, Range<u32>),
    ) -> Option<Range<u32>> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let remaining = RangeWord(word).remaining_in(round, block);
            if remaining.is_empty() {
                return None;
            }
            let (taken, rest) = split(remaining);
            match self.word.compare_exchange(word, RangeWord::new(round, &rest).0, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(taken),
                Err(other) => word = other,
            }
        }
    }

    /// Its bee, with nothing left in this round, puts down units that it has taken elsewhere, for all to take from. Fails if the others are in the next round already; nobody will look for them then.
    pub(crate) fn publish(&self, round: u16, units: &Range<u32>) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let is_in_round = round.wrapping_sub(RangeWord(word).round()) as i16 >= 0;
        debug_assert!(!is_in_round || RangeWord(word).remaining().is_empty(), "{:?}", RangeWord(word));
        is_in_round && self.try_replace(word, RangeWord::new(round, units))
    }

    /// Its bee gives back the last of the units that it claimed last. Fails as `publish` does.
    pub(crate) fn give_back(&self, round: u16, units: &Range<u32>) -> bool {
        self.is_rest_requested.store(false, Ordering::Relaxed);
        let mut word = self.word.load(Ordering::Relaxed);
        // Fails while others steal from the back.
        while RangeWord(word).round() == round {
            let end = RangeWord(word).remaining().end.max(units.end);
            if self.try_replace(word, RangeWord::new(round, &(units.start..end))) {
                return true;
            }
            word = self.word.load(Ordering::Relaxed);
        }
        false
    }

    fn try_replace(&self, old: u64, new: RangeWord) -> bool {
        self.word.compare_exchange(old, new.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Marks that its bee is in the middle of a batch, until the guard is dropped.
    pub(crate) fn begin_batch(&self) -> impl Drop + use<'_> {
        struct BatchGuard<'s>(&'s WorkRange);
        impl Drop for BatchGuard<'_> {
            fn drop(&mut self) {
                self.0.in_batch.store(false, Ordering::Relaxed);
            }
        }
        self.in_batch.store(true, Ordering::Relaxed);
        BatchGuard(self)
    }

    /// Whether somebody has nothing to do and asks for the rest of its bee's batch.
    #[inline(always)]
    pub(crate) fn is_rest_requested(&self) -> bool {
        self.is_rest_requested.load(Ordering::Relaxed)
    }

    /// Asks its bee for the rest of its batch. Says whether there is one that it can give back in `barriers_passed`: for one of another round nobody of this one needs to wait,
    /// and its bee may be waiting for them.
    pub(crate) fn request_rest(&self, round: u16) -> bool {
        let is_in_round = RangeWord(self.word.load(Ordering::Relaxed)).round() == round;
        let in_batch = is_in_round && self.in_batch.load(Ordering::Relaxed);
        if in_batch && !self.is_rest_requested() {
            self.is_rest_requested.store(true, Ordering::Relaxed);
        }
        in_batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_taken_from_both_ends() {
        let (range, block) = (WorkRange::new(), 10..20);
        assert_eq!(range.claim(1, &block, |_| 3), Some(10..13));
        assert_eq!(range.steal(1, &block), Some(16..20));
        assert_eq!(range.claim(1, &block, |_| 2), Some(13..15));
        assert_eq!(range.steal(1, &block), Some(15..16));
        assert_eq!((range.steal(1, &block), range.claim(1, &block, |_| 1)), (None, None));
    }

    #[test]
    fn a_batch_goes_back_in_front_of_what_is_left() {
        let (range, block) = (WorkRange::new(), 0..8);
        assert_eq!(range.claim(1, &block, |_| 4), Some(0..4));
        assert_eq!(range.steal(1, &block), Some(6..8));
        assert!(range.give_back(1, &(1..4)));
        assert_eq!(range.remaining(1, &block), 1..6);
        assert_eq!(range.claim(1, &block, |_| 9), Some(1..6));
        assert!(range.give_back(1, &(5..6)), "nothing else is left");
        assert_eq!(range.remaining(1, &block), 5..6);
    }

    #[test]
    fn a_bee_ahead_leaves_earlier_units_alone() {
        let (range, block) = (WorkRange::new(), 0..4);
        assert_eq!(range.claim(1, &block, |_| 1), Some(0..1));
        assert_eq!(range.steal(2, &block), None, "something is left of round 1");
        assert_eq!(range.claim(1, &block, |_| 9), Some(1..4));
        assert_eq!(range.steal(2, &block), Some(2..4));
        assert!(!range.publish(1, &(0..1)) && !range.give_back(1, &(3..4)), "the share is in round 2");
        assert_eq!(range.claim(1, &block, |_| 1), None);
        assert_eq!(range.claim(2, &block, |_| 9), Some(0..2));
        assert!(range.publish(2, &(8..9)));
        assert_eq!(range.steal(2, &block), Some(8..9));
    }

    #[test]
    fn no_round_is_left_out() {
        let (range, block) = (WorkRange::new(), 0..2);
        assert_eq!(range.steal(2, &block), None, "the bee has yet to come to round 1");
        assert_eq!(range.claim(1, &block, |_| 9), Some(0..2));
        assert_eq!(range.steal(3, &block), None);
        assert_eq!(range.steal(2, &block), Some(1..2));
    }

    #[test]
    fn only_a_bee_that_could_give_back_in_this_round_is_asked() {
        let (range, block) = (WorkRange::new(), 0..4);
        assert_eq!(range.claim(2, &block, |_| 2), None);
        assert_eq!(range.claim(1, &block, |_| 2), Some(0..2));
        assert!(!range.request_rest(1), "it is in no batch");
        let _batch = range.begin_batch();
        assert!(!range.request_rest(2) && !range.is_rest_requested());
        assert!(range.request_rest(1) && range.is_rest_requested());
    }

    #[test]
    fn units_left_by_a_panic_are_discarded() {
        let (range, block) = (WorkRange::new(), 0..4);
        range.discard_before(1);
        assert_eq!(range.claim(1, &block, |_| 1), Some(0..1));
        range.discard_before(2);
        assert_eq!(range.claim(2, &block, |_| 9), Some(0..4));
    }

    #[test]
    fn rounds_wrap() {
        let (range, block) = (WorkRange::new(), 0..1);
        for round in 1..=200_000_u32 {
            assert_eq!(range.count_round() + 1, u64::from(round));
            assert_eq!(range.claim(round as u16, &block, |_| 1), Some(0..1), "round {round}");
            assert_eq!(range.claim(round as u16, &block, |_| 1), None);
        }
    }
}
