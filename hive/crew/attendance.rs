//! How many bees the hive has and how many of them sleep, in one word: what the queen looks at to know whether her whole team is
//! polling.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// A reading of the word.
///
/// ```text
///   63                    32 31                     0
///  ┌────────────────────────┬────────────────────────┐
///  │         bees           │        sleeping        │
///  └────────────────────────┴────────────────────────┘
/// ```
///
/// - `bees`: members that are not surplus, the queen among them.
/// - `sleeping`: bees in state ASLEEP, or about to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading(u64);

impl Reading {
    const BEE: u64 = 1 << 32;

    pub(crate) fn bees(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn sleeping(self) -> u32 {
        self.0 as u32
    }

    /// Whether all of a team of `team` are polling, as far as this word knows.
    #[inline(always)]
    pub(crate) fn all_up(self, team: u32) -> bool {
        self.sleeping() == 0 && team <= self.bees()
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bees, {} sleeping", self.bees(), self.sleeping())
    }
}

/// The word. It changes when the hive is resized and when bees fall asleep or are woken; a hot region only reads it.
pub(crate) struct Attendance {
    word: CachePadded<AtomicU64>,
}

impl Attendance {
    /// The queen alone.
    pub(crate) fn new() -> Self {
        Self { word: CachePadded::new(AtomicU64::new(Reading::BEE)) }
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> Reading {
        // Acquire: pairs with the Release in `resize`; who reads that a bee has come finds its slot.
        Reading(self.word.load(Ordering::Acquire))
    }

    /// Makes the hive's size `bees`. The caller holds the roster.
    pub(crate) fn resize(&self, bees: u32) {
        let now = self.read().bees();
        // A difference, because bees fall asleep and wake meanwhile.
        if bees >= now {
            // Release: pairs with the Acquire in `read`; publishes the new bees' slots. All changes of this word are read-modify-writes, so
            // who reads a later one has it too.
            self.word.fetch_add(u64::from(bees - now) * Reading::BEE, Ordering::Release);
        } else {
            // Relaxed: the fences of `Crew::start` and `Hand::park` say what the queen reads of it.
            self.word.fetch_sub(u64::from(now - bees) * Reading::BEE, Ordering::Relaxed);
        }
    }

    /// Counts a bee that is about to become ASLEEP.
    pub(crate) fn falls_asleep(&self) {
        // Relaxed: the fences of `Crew::start` and `Hand::go_to_sleep` say what the queen reads of it.
        let before = Reading(self.word.fetch_add(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() < u32::from(u16::MAX), "one more asleep than there can be: {before:?}");
    }

    /// Counts off a bee that has left ASLEEP. Whoever won that change calls this.
    pub(crate) fn is_up(&self) {
        // Relaxed: the change out of ASLEEP (AcqRel) comes after the sleeper was counted, and a queen who reads too few up calls in vain.
        let before = Reading(self.word.fetch_sub(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_is_up_when_it_fits_and_nobody_sleeps() {
        let attendance = Attendance::new();
        assert!(attendance.read().all_up(1) && !attendance.read().all_up(2));
        attendance.resize(4);
        assert!(attendance.read().all_up(4) && !attendance.read().all_up(5));
        attendance.falls_asleep();
        assert!(!attendance.read().all_up(2));
        attendance.is_up();
        attendance.resize(2);
        assert!(attendance.read().all_up(2) && !attendance.read().all_up(3));
    }
}
