//! What one member has left of a loop whose chunks go to whoever comes for them: a range of units in one word, taken from at the front by
//! its member and at the back by the others.

use std::ops::Range;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Units of a loop are numbered below this.
pub(crate) const MOST_UNITS: usize = (1 << Word::UNIT_BITS) - 1;

/// What is left, and of which of the loop's rounds.
///
/// ```text
///   63        48 47             24 23              0
///  ┌────────────┬─────────────────┬─────────────────┐
///  │   round    │      next       │       end       │
///  └────────────┴─────────────────┴─────────────────┘
/// ```
///
/// A loop may be run again and again, and without a barrier between two rounds one member may be in the next while others are in this one. The round keeps them
/// apart. Of rounds whose numbers are less than 2^15 apart it is known which comes first; `Board` sees that no others meet in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word(u64);

impl Word {
    const UNIT_BITS: u32 = 24;
    const ROUND_SHIFT: u32 = 2 * Self::UNIT_BITS;

    fn new(round: u16, left: &Range<u32>) -> Self {
        debug_assert!(left.start <= left.end && left.end as usize <= MOST_UNITS, "{left:?}");
        Self((u64::from(round) << Self::ROUND_SHIFT) | (u64::from(left.start) << Self::UNIT_BITS) | u64::from(left.end))
    }

    fn round(self) -> u16 {
        (self.0 >> Self::ROUND_SHIFT) as u16
    }

    fn left(self) -> Range<u32> {
        let unit = |bits: u64| (bits & MOST_UNITS as u64) as u32;
        unit(self.0 >> Self::UNIT_BITS)..unit(self.0)
    }

    /// What is left in `round`, in which the member begins with `block`. Empty where the share is in a later round already, or still has something left of an
    /// earlier one, which whoever is ahead of the member must leave alone; and no round must be left out, or the member would find its block of that gone.
    fn left_in(self, round: u16, block: &Range<u32>) -> Range<u32> {
        let ahead = round.wrapping_sub(self.round()) as i16;
        match ahead {
            0 => self.left(),
            1 if self.left().is_empty() => block.clone(),
            _ => 0..0,
        }
    }
}

/// A member's share of a loop. The word, alone in its cache lines but for what its member needs with it.
#[repr(align(128))]
pub(crate) struct Share {
    word: AtomicU64,
    /// Whether its member is in the middle of several units that it has claimed at once.
    in_batch: AtomicBool,
    /// Whether somebody else has nothing to do and asks for what is left of those.
    is_wanted: AtomicBool,
    /// The rounds that its member has begun, and 1 more than the number of the set of words that it is in; 0: in none of
    /// the later ones. Touched by it alone, in the words of the first generation.
    rounds: AtomicU64,
    set: AtomicU32,
}

// Relaxed throughout: units are numbers, and to have taken some hands over nothing else. What the members work on is kept apart by the start and the end of
// the region and by its barriers. That no unit is taken twice is due to the word's single order of changes alone.
impl Share {
    pub(super) fn new() -> Self {
        Self::with(0, &(0..0))
    }

    /// One with these units left.
    pub(crate) fn with(round: u16, units: &Range<u32>) -> Self {
        Self {
            word: AtomicU64::new(Word::new(round, units).0),
            in_batch: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            rounds: AtomicU64::new(0),
            set: AtomicU32::new(0),
        }
    }

    /// As new. Nobody else may be at it.
    pub(super) fn reset(&self) {
        self.word.store(0, Ordering::Relaxed);
        self.in_batch.store(false, Ordering::Relaxed);
        self.is_wanted.store(false, Ordering::Relaxed);
        self.rounds.store(0, Ordering::Relaxed);
        self.set.store(0, Ordering::Relaxed);
    }

    /// Whether `round` is the last that it was in.
    pub(super) fn is_in(&self, round: u16) -> bool {
        Word(self.word.load(Ordering::Relaxed)).round() == round
    }

    /// Counts a round of its member's, and returns the number of those before.
    pub(super) fn count_round(&self) -> u64 {
        let rounds = self.rounds.load(Ordering::Relaxed);
        self.rounds.store(rounds + 1, Ordering::Relaxed);
        rounds
    }

    /// The set of words that its member is in, if it is in one of the later ones.
    pub(super) fn set(&self) -> Option<u32> {
        self.set.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Its member goes to this one.
    pub(super) fn be_in_set(&self, set: u32) {
        self.set.store(set + 1, Ordering::Relaxed);
    }

    /// Its member gives up what it has left of the round before `round`, which it has left by a panic that its body caught.
    pub(super) fn forsake_before(&self, round: u16) {
        self.claim(round.wrapping_sub(1), &(0..0), |left| left);
    }

    /// How much is left in `round`.
    pub(crate) fn left(&self, round: u16, block: &Range<u32>) -> Range<u32> {
        Word(self.word.load(Ordering::Relaxed)).left_in(round, block)
    }

    /// Its member takes units from the front: as many as `amount` says of how many are left.
    pub(crate) fn claim(&self, round: u16, block: &Range<u32>, amount: impl Fn(u32) -> u32) -> Option<Range<u32>> {
        self.take(round, block, |left| {
            let middle = left.start + amount(left.end - left.start).clamp(1, left.end - left.start);
            (left.start..middle, middle..left.end)
        })
    }

    /// Another member takes half of the units from the back, or the last.
    pub(crate) fn steal(&self, round: u16, block: &Range<u32>) -> Option<Range<u32>> {
        self.take(round, block, |left| {
            let middle = left.start + (left.end - left.start) / 2;
            (middle..left.end, left.start..middle)
        })
    }

    /// Takes what `divide` takes of what is left, and leaves what it leaves.
    fn take(
        &self,
        round: u16,
        block: &Range<u32>,
        divide: impl Fn(Range<u32>) -> (Range<u32>, Range<u32>),
    ) -> Option<Range<u32>> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let left = Word(word).left_in(round, block);
            if left.is_empty() {
                return None;
            }
            let (taken, kept) = divide(left);
            match self.word.compare_exchange(word, Word::new(round, &kept).0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(taken),
                Err(other) => word = other,
            }
        }
    }

    /// Its member, with nothing left in this round, puts down units that it has taken elsewhere, for all to take from. Fails if the others are in the next round already; nobody will look for them then.
    pub(crate) fn put(&self, round: u16, units: &Range<u32>) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let is_in_round = round.wrapping_sub(Word(word).round()) as i16 >= 0;
        debug_assert!(!is_in_round || Word(word).left().is_empty(), "{:?}", Word(word));
        is_in_round && self.replace(word, Word::new(round, units))
    }

    /// Its member gives back the last of the units that it claimed last. Fails as `put` does.
    pub(super) fn give_back(&self, round: u16, units: &Range<u32>) -> bool {
        self.is_wanted.store(false, Ordering::Relaxed);
        let mut word = self.word.load(Ordering::Relaxed);
        // Fails while others steal from the back.
        while Word(word).round() == round {
            let end = Word(word).left().end.max(units.end);
            if self.replace(word, Word::new(round, &(units.start..end))) {
                return true;
            }
            word = self.word.load(Ordering::Relaxed);
        }
        false
    }

    fn replace(&self, old: u64, new: Word) -> bool {
        self.word.compare_exchange(old, new.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Marks that its member is in the middle of a batch, until the guard is dropped.
    pub(super) fn in_batch(&self) -> impl Drop + use<'_> {
        struct Batch<'s>(&'s Share);
        impl Drop for Batch<'_> {
            fn drop(&mut self) {
                self.0.in_batch.store(false, Ordering::Relaxed);
            }
        }
        self.in_batch.store(true, Ordering::Relaxed);
        Batch(self)
    }

    /// Whether somebody has nothing to do and asks for the rest of its member's batch.
    #[inline(always)]
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Asks its member for the rest of its batch. Says whether there is one that it can give back in `round`: for one of another round nobody of this one needs to wait,
    /// and its member may be waiting for them.
    pub(super) fn ask(&self, round: u16) -> bool {
        let is_in_round = Word(self.word.load(Ordering::Relaxed)).round() == round;
        let in_batch = is_in_round && self.in_batch.load(Ordering::Relaxed);
        if in_batch && !self.is_wanted() {
            self.is_wanted.store(true, Ordering::Relaxed);
        }
        in_batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_taken_from_both_ends() {
        let (share, block) = (Share::new(), 10..20);
        assert_eq!(share.claim(1, &block, |_| 3), Some(10..13));
        assert_eq!(share.steal(1, &block), Some(16..20));
        assert_eq!(share.claim(1, &block, |_| 2), Some(13..15));
        assert_eq!(share.steal(1, &block), Some(15..16));
        assert_eq!((share.steal(1, &block), share.claim(1, &block, |_| 1)), (None, None));
    }

    #[test]
    fn a_batch_goes_back_in_front_of_what_is_left() {
        let (share, block) = (Share::new(), 0..8);
        assert_eq!(share.claim(1, &block, |_| 4), Some(0..4));
        assert_eq!(share.steal(1, &block), Some(6..8));
        assert!(share.give_back(1, &(1..4)));
        assert_eq!(share.left(1, &block), 1..6);
        assert_eq!(share.claim(1, &block, |_| 9), Some(1..6));
        assert!(share.give_back(1, &(5..6)), "nothing else is left");
        assert_eq!(share.left(1, &block), 5..6);
    }

    #[test]
    fn who_is_ahead_leaves_alone_what_is_left_behind() {
        let (share, block) = (Share::new(), 0..4);
        assert_eq!(share.claim(1, &block, |_| 1), Some(0..1));
        assert_eq!(share.steal(2, &block), None, "something is left of round 1");
        assert_eq!(share.claim(1, &block, |_| 9), Some(1..4));
        assert_eq!(share.steal(2, &block), Some(2..4));
        assert!(!share.put(1, &(0..1)) && !share.give_back(1, &(3..4)), "the share is in round 2");
        assert_eq!(share.claim(1, &block, |_| 1), None);
        assert_eq!(share.claim(2, &block, |_| 9), Some(0..2));
        assert!(share.put(2, &(8..9)));
        assert_eq!(share.steal(2, &block), Some(8..9));
    }

    #[test]
    fn no_round_is_left_out() {
        let (share, block) = (Share::new(), 0..2);
        assert_eq!(share.steal(2, &block), None, "the member has yet to come to round 1");
        assert_eq!(share.claim(1, &block, |_| 9), Some(0..2));
        assert_eq!(share.steal(3, &block), None);
        assert_eq!(share.steal(2, &block), Some(1..2));
    }

    #[test]
    fn only_who_could_give_back_in_this_round_is_asked() {
        let (share, block) = (Share::new(), 0..4);
        assert_eq!(share.claim(2, &block, |_| 2), None);
        assert_eq!(share.claim(1, &block, |_| 2), Some(0..2));
        assert!(!share.ask(1), "it is in no batch");
        let _in_batch = share.in_batch();
        assert!(!share.ask(2) && !share.is_wanted());
        assert!(share.ask(1) && share.is_wanted());
    }

    #[test]
    fn what_was_left_by_a_panic_is_forsaken() {
        let (share, block) = (Share::new(), 0..4);
        share.forsake_before(1);
        assert_eq!(share.claim(1, &block, |_| 1), Some(0..1));
        share.forsake_before(2);
        assert_eq!(share.claim(2, &block, |_| 9), Some(0..4));
    }

    #[test]
    fn rounds_wrap() {
        let (share, block) = (Share::new(), 0..1);
        for round in 1..=200_000_u32 {
            assert_eq!(share.count_round() + 1, u64::from(round));
            assert_eq!(share.claim(round as u16, &block, |_| 1), Some(0..1), "round {round}");
            assert_eq!(share.claim(round as u16, &block, |_| 1), None);
        }
    }
}
