//! How many bees the hive has and how many of them are asleep, in one word. After each start the queen, or a worker
//! that leads a group, reads it to learn whether all bees of the team are polling. If some bee is asleep, a second word
//! says which bees are, because the sleepers need not be in that team. Whoever has tasks to be run looks there for bees
//! to wake. The steps and the proof are in `docs/resize.md` and `docs/sleep.md`.

use crate::sync::{AtomicU64, Ordering};

/// A value of the first word.
///
/// ```text
///   63                    32 31                     0
///  ┌────────────────────────┬────────────────────────┐
///  │         bees           │        sleeping        │
///  └────────────────────────┴────────────────────────┘
/// ```
///
/// - `bees`: the bees that are not surplus, the queen included.
/// - `sleeping`: the bees in state ASLEEP, and those about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OccupancyCounts(u64);

impl OccupancyCounts {
    /// One bee, as counted in the word.
    const BEE: u64 = 1 << 32;

    /// The bees that are not surplus, the queen included: the size of the hive.
    pub(crate) fn bees(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The bees in state ASLEEP, and those about to be.
    fn sleeping(self) -> u32 {
        self.0 as u32
    }

    /// Whether there are bees beside the queen, and all of them are asleep.
    #[inline(always)]
    pub(crate) fn all_workers_sleep(self) -> bool {
        self.sleeping() > 0 && self.sleeping() + 1 >= self.bees()
    }
}

/// Both words; a team has them in one cache line. They change when the hive is resized and when bees fall asleep or are
/// woken. In regions that follow one another closely the queen only reads the first, and the second if some bee is
/// asleep.
pub(crate) struct Occupancy {
    /// An `OccupancyCounts`.
    counts: AtomicU64,
    /// One bit for each of the first `TRACKED_BEES` bees: whether it is ASLEEP, or about to be.
    asleep_bits: AtomicU64,
}

/// How many bees have a bit in `asleep_bits`.
pub(crate) const TRACKED_BEES: u32 = u64::BITS;

/// The bit of a bee, or no bit for a bee that has none.
fn bit(bee: u32) -> u64 {
    if bee < TRACKED_BEES { 1 << bee } else { 0 }
}

impl Occupancy {
    /// The queen alone, who is awake.
    pub(crate) fn new() -> Self {
        Self { counts: AtomicU64::new(OccupancyCounts::BEE), asleep_bits: AtomicU64::new(0) }
    }

    /// The counts as they are now.
    #[inline(always)]
    pub(crate) fn read(&self) -> OccupancyCounts {
        // Acquire: pairs with the Release in `resize`. A caller that reads a larger size also finds the slots of the
        // new bees.
        OccupancyCounts(self.counts.load(Ordering::Acquire))
    }

    /// Whether, as far as these words tell, no bee of a team of `bees` bees is asleep or parked. The caller has
    /// published the start word and executed a SeqCst fence.
    #[inline(always)]
    pub(crate) fn all_awake(&self, bees: u32) -> bool {
        let now = self.read();
        // If nobody is asleep this one word is enough. The size matters because bees beyond it may be parked.
        if now.sleeping() == 0 { bees <= now.bees() } else { self.all_awake_by_bits(bees) }
    }

    /// `all_awake` when some bee is asleep. In a team of more bees than have a bit the sleeper may be one of those
    /// without; then the answer is no.
    fn all_awake_by_bits(&self, bees: u32) -> bool {
        // Acquire: pairs with the Release in `uncount_sleeper`. A shrink that parks a sleeper first reduces the size
        // and then clears the bit. A caller that finds the bit clear must not read the size from before. Therefore the
        // bits are read before the size.
        let asleep_bits = self.asleep_bits.load(Ordering::Acquire);
        bees <= TRACKED_BEES && asleep_bits & (u64::MAX >> (TRACKED_BEES - bees)) == 0 && bees <= self.read().bees()
    }

    /// One bit for each bee that has one and may be asleep. A caller that must not overlook one has executed a SeqCst
    /// fence, so that either the bee is among these, or it sees in its last check what the caller has done before.
    pub(crate) fn maybe_asleep(&self) -> u64 {
        // Relaxed: ordered by that fence and the one in `TaskContext::go_to_sleep`. The bit is set before the state
        // becomes ASLEEP, and cleared after it has changed again.
        self.asleep_bits.load(Ordering::Relaxed)
    }

    /// Changes the hive's size to `bees`. The caller holds the lock of `ResizeState`.
    pub(crate) fn resize(&self, bees: u32) {
        // The word is changed by the difference, because other threads change `sleeping` meanwhile.
        let now = self.read().bees();
        if bees >= now {
            // Release: pairs with the Acquire in `read`; publishes the slots of the new bees. Every change of this word
            // is a read-modify-write, so a reader of a later value sees them, too.
            self.counts.fetch_add(u64::from(bees - now) * OccupancyCounts::BEE, Ordering::Release);
        } else {
            // Relaxed: what the queen must read of it is ordered by the fences in `Team::wake_if_asleep` and
            // `TaskContext::park`.
            self.counts.fetch_sub(u64::from(now - bees) * OccupancyCounts::BEE, Ordering::Relaxed);
        }
    }

    /// Counts a bee that is about to become ASLEEP. Called by the bee itself.
    pub(crate) fn count_asleep(&self, bee: u32) {
        // Relaxed, both: what the queen must read of them is ordered by the fences in `Team::wake_if_asleep` and
        // `TaskContext::go_to_sleep`.
        let before = self.asleep_bits.fetch_or(bit(bee), Ordering::Relaxed);
        debug_assert!(before & bit(bee) == 0, "bee {bee} falls asleep twice");
        let before = OccupancyCounts(self.counts.fetch_add(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() < u32::from(u16::MAX), "one more asleep than there can be: {before:?}");
    }

    /// Takes a bee off the count of sleepers. It has left ASLEEP, which the caller has brought about, or it has failed
    /// to get there.
    pub(crate) fn uncount_sleeper(&self, bee: u32) {
        // Release: pairs with the Acquire in `all_awake_by_bits`. Every change of this word is a read-modify-write, so
        // a reader of a later value synchronizes with this one, too.
        let before = self.asleep_bits.fetch_and(!bit(bee), Ordering::Release);
        debug_assert!(before & bit(bee) == bit(bee), "bee {bee} is woken without having slept");
        // Relaxed: the sleeper was counted before its change to ASLEEP, and this comes after the change out of ASLEEP;
        // both changes are AcqRel, so the count does not fall below zero. A queen that still reads the sleeper tries to
        // wake it and finds it awake, which does no harm.
        let before = OccupancyCounts(self.counts.fetch_sub(1, Ordering::Relaxed));
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
        occupancy.uncount_sleeper(2);
        assert!(!occupancy.all_awake(2));
        occupancy.uncount_sleeper(1);
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
        occupancy.uncount_sleeper(63);
        assert!(occupancy.all_awake(64) && !occupancy.all_awake(65));
        occupancy.uncount_sleeper(64);
        assert!(occupancy.all_awake(100));
    }
}
