//! How many bees the hive has and how many of them sleep, in one word: what the queen looks at to know whether her whole team is
//! polling. Where somebody sleeps, a second word says which bees: it need not be one of her team.

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
/// - `bees`: bees that are not surplus, the queen among them.
/// - `sleeping`: bees in state ASLEEP, or about to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OccupancyCounts(u64);

impl OccupancyCounts {
    const BEE: u64 = 1 << 32;

    pub(crate) fn bees(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn sleeping(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Debug for OccupancyCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bees, {} sleeping", self.bees(), self.sleeping())
    }
}

/// The words, in one line. They change when the hive is resized and when bees fall asleep or are woken; a hot region
/// only reads the first, and the second if there is a sleeper.
pub(crate) struct Occupancy(CachePadded<OccupancyWords>);

struct OccupancyWords {
    counts: AtomicU64,
    /// Which of the first bees sleep, or are about to: a bit each.
    asleep_bits: AtomicU64,
}

/// Bees that have a bit.
const TRACKED_BEES: u32 = u64::BITS;

/// The bit of a bee; of those that have none, nothing.
fn bit(bee: u32) -> u64 {
    if bee < TRACKED_BEES { 1 << bee } else { 0 }
}

impl Occupancy {
    /// The queen alone.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(OccupancyWords {
            counts: AtomicU64::new(OccupancyCounts::BEE),
            asleep_bits: AtomicU64::new(0),
        }))
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> OccupancyCounts {
        // Acquire: pairs with the Release in `resize`; who reads that a bee has come finds its slot.
        OccupancyCounts(self.0.counts.load(Ordering::Acquire))
    }

    /// Whether none of a team of `team` is asleep or parked, as far as is known here. After a SeqCst fence.
    #[inline(always)]
    pub(crate) fn all_awake(&self, bees: u32) -> bool {
        let now = self.read();
        if now.sleeping() == 0 { bees <= now.bees() } else { self.all_awake_by_bits(bees) }
    }

    /// The same where somebody sleeps. In a team of more bees than have a bit that may be one of the others.
    fn all_awake_by_bits(&self, bees: u32) -> bool {
        // Acquire: pairs with the Release in `count_awake`. A sleeper that a shrink has parked is counted off, and is no
        // longer a bee; so who reads that it does not sleep must not read the size from before. Therefore this comes
        // first.
        let asleep_bits = self.0.asleep_bits.load(Ordering::Acquire);
        bees <= TRACKED_BEES && asleep_bits & (u64::MAX >> (TRACKED_BEES - bees)) == 0 && bees <= self.read().bees()
    }

    /// Makes the hive's size `bees`. The caller holds the roster.
    pub(crate) fn resize(&self, bees: u32) {
        let now = self.read().bees();
        // A difference, because bees fall asleep and wake meanwhile.
        if bees >= now {
            // Release: pairs with the Acquire in `read`; publishes the new bees' slots. All changes of this word are read-modify-writes, so
            // who reads a later one has it too.
            self.0.counts.fetch_add(u64::from(bees - now) * OccupancyCounts::BEE, Ordering::Release);
        } else {
            // Relaxed: the fences of `Team::wake_if_asleep` and `TaskContext::count_parked` say what the queen reads of it.
            self.0.counts.fetch_sub(u64::from(now - bees) * OccupancyCounts::BEE, Ordering::Relaxed);
        }
    }

    /// Counts a bee that is about to become ASLEEP.
    pub(crate) fn count_asleep(&self, bee: u32) {
        // Relaxed, both: the fences of `Team::wake_if_asleep` and `TaskContext::go_to_sleep` say what the queen reads of it.
        let before = self.0.asleep_bits.fetch_or(bit(bee), Ordering::Relaxed);
        debug_assert!(before & bit(bee) == 0, "bee {bee} falls asleep twice");
        let before = OccupancyCounts(self.0.counts.fetch_add(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() < u32::from(u16::MAX), "one more asleep than there can be: {before:?}");
    }

    /// Counts off a bee that has left ASLEEP, or has failed to get there.
    pub(crate) fn count_awake(&self, bee: u32) {
        // Release: pairs with the Acquire in `all_awake_by_bits`. All changes of this word are read-modify-writes,
        // so who reads a later one has it too.
        let before = self.0.asleep_bits.fetch_and(!bit(bee), Ordering::Release);
        debug_assert!(before & bit(bee) == bit(bee), "bee {bee} is woken without having slept");
        // Relaxed: the change out of ASLEEP (AcqRel) comes after the sleeper was counted, and a queen who reads too few up calls in vain.
        let before = OccupancyCounts(self.0.counts.fetch_sub(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_is_awake_when_it_fits_and_none_of_it_sleeps() {
        let occupancy = Occupancy::new();
        assert!(occupancy.all_awake(1) && !occupancy.all_awake(2));
        occupancy.resize(4);
        assert!(occupancy.all_awake(4) && !occupancy.all_awake(5));
        occupancy.count_asleep(2);
        assert!(occupancy.all_awake(2) && !occupancy.all_awake(3) && !occupancy.all_awake(5));
        occupancy.count_asleep(1);
        occupancy.count_awake(2);
        assert!(!occupancy.all_awake(2));
        occupancy.count_awake(1);
        occupancy.resize(2);
        assert!(occupancy.all_awake(2) && !occupancy.all_awake(3));
    }

    #[test]
    fn a_team_beyond_the_bits_is_awake_when_no_bee_sleeps() {
        let occupancy = Occupancy::new();
        occupancy.resize(100);
        assert!(occupancy.all_awake(100));
        occupancy.count_asleep(63);
        assert!(occupancy.all_awake(63) && !occupancy.all_awake(64) && !occupancy.all_awake(65));
        occupancy.count_asleep(64);
        occupancy.count_awake(63);
        assert!(occupancy.all_awake(64) && !occupancy.all_awake(65));
        occupancy.count_awake(64);
        assert!(occupancy.all_awake(100));
    }
}
