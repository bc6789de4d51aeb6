//! What one member has done so far, counted where only it writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Regions,
    Tasks,
    /// Steals, by distance: see `crew/neighbours.rs`.
    StealsInCore,
    StealsInCluster,
    StealsInNode,
    StealsFromFar,
    Sleeps,
    Wakes,
    WakesForNothing,
    Rescues,
    Parks,
    CancelledParks,
}

const COUNTS: usize = Count::CancelledParks as usize + 1;

/// A member's counts. The checkers of the protocols do not see them: nothing is decided by them.
#[derive(Default)]
pub(crate) struct Tally {
    counts: [AtomicU64; COUNTS],
    /// Whether the member is up and looks for work.
    searches: AtomicBool,
}

impl Tally {
    /// One more of what only the member itself counts.
    #[inline(always)]
    pub(crate) fn add(&self, what: Count) {
        let count = &self.counts[what as usize];
        // Relaxed, both: a figure for a reader's eyes, with one writer; not one operation, because that would cost twenty times as much.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// One more of what others count for it, too.
    pub(crate) fn add_for(&self, what: Count) {
        // Relaxed: as above.
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, what: Count) -> u64 {
        // Relaxed: as above.
        self.counts[what as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn set_searching(&self, searches: bool) {
        // Release: pairs with the Acquire below. Who sees that the member has stopped sees the post that it began before.
        self.searches.store(searches, Ordering::Release);
    }

    pub(crate) fn is_searching(&self) -> bool {
        // Acquire: as above.
        self.searches.load(Ordering::Acquire)
    }
}
