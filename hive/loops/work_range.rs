//! A bee's work range: what it has left of a `Dynamic` or `Affinity` loop. Its units are a contiguous range in one
//! atomic word; the owner claims units at the front, and the other bees steal units at the back. Called by
//! `stealing.rs`, and by the paralight adapter. Part of the loop protocol, which is described in `docs/loops.md`.

use std::ops::Range;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, on_drop};

/// The largest number of units in a loop under these schedules. A unit's number fits into `UNIT_BITS` bits, and so does
/// the end of the last unit.
pub(crate) const MAX_UNITS: usize = (1 << RangeWord::UNIT_BITS) - 1;

/// The units that are left in a work range, and the round of the loop that they belong to.
///
/// ```text
///   63        48 47             24 23              0
///  ┌────────────┬─────────────────┬─────────────────┐
///  │   round    │      next       │       end       │
///  └────────────┴─────────────────┴─────────────────┘
/// ```
///
/// - `round`: the last round in which units of this range were taken or published.
/// - `next`: the first unit that is left.
/// - `end`: the unit after the last that is left. Equal to `next`: nothing is left.
///
/// A loop may be run repeatedly, and without a barrier between two rounds one bee may be in the next round while others
/// are still in this one. The round keeps them apart. Which of two rounds comes first is known if their numbers are
/// less than 2^15 apart; `LoopState` ensures that words contain no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RangeWord(u64);

impl RangeWord {
    const UNIT_BITS: u32 = 24;
    const ROUND_SHIFT: u32 = 2 * Self::UNIT_BITS;

    fn new(round: u16, remaining: &Range<u32>) -> Self {
        debug_assert!(remaining.start <= remaining.end && remaining.end as usize <= MAX_UNITS, "{remaining:?}");
        let (start, end) = (u64::from(remaining.start), u64::from(remaining.end));
        Self(u64::from(round) << Self::ROUND_SHIFT | start << Self::UNIT_BITS | end)
    }

    fn round(self) -> u16 {
        (self.0 >> Self::ROUND_SHIFT) as u16
    }

    fn remaining(self) -> Range<u32> {
        let unit = |bits: u64| (bits & MAX_UNITS as u64) as u32;
        unit(self.0 >> Self::UNIT_BITS)..unit(self.0)
    }

    /// The units that are left for `round`, which the owner of the range begins with `block`.
    ///
    /// - The word is of this round: what it says.
    /// - The word is of the round before, and nothing is left of that: the whole block. This round begins with the
    ///   first bee that takes some of it.
    /// - The word is of a later round: nothing. All units of this round have been taken.
    /// - The word still has something left of the round before, or is of an even earlier round: nothing. The units that
    ///   are left belong to bees that are still in that round. And a range must not skip a round, because the owner
    ///   would not find its block of the skipped round any more.
    #[inline]
    fn remaining_in(self, round: u16, block: &Range<u32>) -> Range<u32> {
        // How many rounds `round` is ahead of the word, modulo 2^16.
        let ahead = round.wrapping_sub(self.round()) as i16;
        match ahead {
            0 => self.remaining(),
            1 if self.remaining().is_empty() => block.clone(),
            _ => 0..0,
        }
    }
}

/// The work range of one bee, which is called its owner. Aligned so that it has its cache lines for itself: the other
/// bees access these lines only when they look for work.
#[repr(align(128))]
pub(crate) struct WorkRange {
    /// A `RangeWord`. Changed by the owner at the front and by all other bees at the back, always by an exchange of the
    /// whole word.
    word: AtomicU64,
    /// Whether the owner is in the middle of a batch: several units that it has claimed at once. Written by the owner.
    in_batch: AtomicBool,
    /// Whether another bee has run out of work and requests the rest of that batch. Set by the other bee, cleared by
    /// the owner.
    is_rest_requested: AtomicBool,
    /// How many rounds the owner has begun in this region; counted up as each round begins. Used by the owner alone,
    /// and only in the work ranges of the first generation.
    rounds: AtomicU64,
    /// 1 more than the number of the buffer that the owner is in, written when it goes on to a new generation; 0: it is
    /// still in the first generation. Used by the owner alone, and only in the work ranges of the first generation.
    buffer: AtomicU32,
}

// All operations are Relaxed. A unit is only a number, and taking one hands over nothing else: what the bees read and
// write in the loop's body is ordered by the start and the end of the region and by its barriers. That no unit is taken
// twice follows from the single order of the word's changes alone. The flags are hints: a bee that sees an old value
// asks again, or leaves the round early.
impl WorkRange {
    /// A work range with nothing left, in round 0, the one before the first.
    pub(crate) fn new() -> Self {
        Self::with_units(0, &(0..0))
    }

    /// A work range with these units left of `round`.
    pub(crate) fn with_units(round: u16, units: &Range<u32>) -> Self {
        Self {
            word: AtomicU64::new(RangeWord::new(round, units).0),
            in_batch: AtomicBool::new(false),
            is_rest_requested: AtomicBool::new(false),
            rounds: AtomicU64::new(0),
            buffer: AtomicU32::new(0),
        }
    }

    /// Puts the range into its initial state. No other bee may be using it.
    pub(crate) fn reset(&self) {
        // Relaxed, all: what hands the words to their next users also orders these stores.
        self.word.store(0, Ordering::Relaxed);
        self.in_batch.store(false, Ordering::Relaxed);
        self.is_rest_requested.store(false, Ordering::Relaxed);
        self.rounds.store(0, Ordering::Relaxed);
        self.buffer.store(0, Ordering::Relaxed);
    }

    /// Whether `round` is the last round in which units of this range were taken or published.
    pub(crate) fn is_in_round(&self, round: u16) -> bool {
        // Relaxed: called after the region, whose end orders the bees' changes before this load.
        RangeWord(self.word.load(Ordering::Relaxed)).round() == round
    }

    /// Counts a round that the owner begins. Returns how many rounds it has begun before.
    pub(crate) fn count_round(&self) -> u64 {
        // Relaxed, both: only the owner uses the word.
        let rounds = self.rounds.load(Ordering::Relaxed);
        self.rounds.store(rounds + 1, Ordering::Relaxed);
        rounds
    }

    /// Whether the owner has begun a round in the region that used the range last.
    pub(crate) fn has_begun(&self) -> bool {
        // Relaxed: the caller has the range to itself.
        self.rounds.load(Ordering::Relaxed) > 0
    }

    /// The number of the buffer that the owner is in. None: it is still in the first generation.
    pub(crate) fn buffer(&self) -> Option<u32> {
        // Relaxed: only the owner uses the word.
        self.buffer.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Records that the owner has gone on to this buffer.
    pub(crate) fn set_buffer(&self, buffer: u32) {
        // Relaxed: only the owner uses the word.
        self.buffer.store(buffer + 1, Ordering::Relaxed);
    }

    /// The units that are left for `round`, which the owner begins with `block`. May be out of date at once.
    pub(crate) fn remaining(&self, round: u16, block: &Range<u32>) -> Range<u32> {
        // Relaxed: only a hint of where to steal.
        RangeWord(self.word.load(Ordering::Relaxed)).remaining_in(round, block)
    }

    /// The owner claims units at the front: as many as `amount` returns for the number of units left, but at least one
    /// and no more than there are. None: nothing is left.
    pub(crate) fn claim(&self, round: u16, block: &Range<u32>, amount: impl Fn(u32) -> u32) -> Option<Range<u32>> {
        self.take(round, block, |left| {
            let middle = left.start + amount(left.end - left.start).clamp(1, left.end - left.start);
            [left.start..middle, middle..left.end]
        })
    }

    /// Another bee steals the back half of the units, or the last one. None: nothing is left.
    pub(crate) fn steal(&self, round: u16, block: &Range<u32>) -> Option<Range<u32>> {
        self.take(round, block, |left| {
            let middle = left.start + (left.end - left.start) / 2;
            [middle..left.end, left.start..middle]
        })
    }

    /// Cuts the units that are left for `round` by `cut`, into those to take and those to leave. Takes the former.
    /// None: nothing is left.
    fn take(&self, round: u16, block: &Range<u32>, cut: impl Fn(Range<u32>) -> [Range<u32>; 2]) -> Option<Range<u32>> {
        loop {
            // Relaxed: only an attempt. `try_replace` fails if the word has changed since.
            let word = self.word.load(Ordering::Relaxed);
            let remaining = RangeWord(word).remaining_in(round, block);
            if remaining.is_empty() {
                return None;
            }
            let [taken, rest] = cut(remaining);
            // If this finds the word in the round before, it begins this round.
            if self.try_replace(word, RangeWord::new(round, &rest)) {
                return Some(taken);
            }
        }
    }

    /// The owner publishes units that it has stolen, for all bees to take. Nothing is left of this round in the range.
    /// Returns false, and does nothing, if other bees have taken the range to a later round, where no bee would look
    /// for these units.
    pub(crate) fn publish(&self, round: u16, units: &Range<u32>) -> bool {
        // Relaxed: only an attempt. `try_replace` fails if the word has changed since.
        let word = self.word.load(Ordering::Relaxed);
        let is_in_round = round.wrapping_sub(RangeWord(word).round()) as i16 >= 0;
        is_in_round && self.try_replace(word, RangeWord::new(round, units))
    }

    /// The owner gives back `units`, the last of the units that it claimed last: they go in front of what is left.
    /// Returns false, and leaves the units to the owner, if other bees have taken the range to a later round.
    pub(crate) fn give_back(&self, round: u16, units: &Range<u32>) -> bool {
        // Relaxed: the request is being answered. Nobody else clears it.
        self.is_rest_requested.store(false, Ordering::Relaxed);
        // Relaxed: only an attempt, as in `publish`.
        let mut word = self.word.load(Ordering::Relaxed);
        // The exchange fails while other bees steal at the back.
        while RangeWord(word).round() == round {
            let end = RangeWord(word).remaining().end.max(units.end);
            if self.try_replace(word, RangeWord::new(round, &(units.start..end))) {
                return true;
            }
            // Relaxed: only the next attempt.
            word = self.word.load(Ordering::Relaxed);
        }
        false
    }

    /// Replaces the word, unless it has changed since it was read as `old`. Returns whether it did.
    fn try_replace(&self, old: u64, new: RangeWord) -> bool {
        // Relaxed, both: no partner. A success is one step in the word's single order of changes; what to do after a
        // failure is up to the caller.
        self.word.compare_exchange(old, new.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Marks that the owner is in the middle of a batch, until the returned guard is dropped.
    pub(crate) fn begin_batch(&self) -> impl Drop + use<'_> {
        // Relaxed: a hint. A bee that does not see the batch yet leaves the round early.
        self.in_batch.store(true, Ordering::Relaxed);
        // Relaxed: a hint. A bee that still sees the batch requests the rest, gets nothing, and looks again.
        on_drop(|| self.in_batch.store(false, Ordering::Relaxed))
    }

    /// Whether another bee has run out of work and requests the rest of the owner's batch.
    #[inline(always)]
    pub(crate) fn is_rest_requested(&self) -> bool {
        // Relaxed: a hint. If the owner sees the request later, it gives back less.
        self.is_rest_requested.load(Ordering::Relaxed)
    }

    /// Another bee requests the rest of the owner's batch. Returns whether the owner is in a batch that it can give
    /// back in `round`. A batch of another round does not count: no bee of this round needs to wait for it, and its
    /// owner may itself be waiting for bees of this round.
    pub(crate) fn request_rest(&self, round: u16) -> bool {
        // Relaxed, all: hints. If they are out of date, the bee leaves the round early or looks again.
        let is_in_round = RangeWord(self.word.load(Ordering::Relaxed)).round() == round;
        let in_batch = is_in_round && self.in_batch.load(Ordering::Relaxed);
        // Set the flag only if it is not set yet: a write takes the cache line away from the owner.
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
    fn rounds_wrap() {
        let (range, block) = (WorkRange::new(), 0..1);
        for round in 1..=200_000_u32 {
            assert_eq!(range.count_round() + 1, u64::from(round));
            assert_eq!(range.claim(round as u16, &block, |_| 1), Some(0..1), "round {round}");
            assert_eq!(range.claim(round as u16, &block, |_| 1), None);
        }
    }
}
