//! What one bee has done so far, counted where only it writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Regions,
    Tasks,
    /// Steals, by distance: see `protocol/neighbours.rs`.
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

const COUNTERS: usize = Counter::CancelledParks as usize + 1;

/// A bee's counts. The checkers of the protocols do not see them: nothing is decided by them.
#[derive(Default)]
pub(crate) struct BeeCounters {
    values: [AtomicU64; COUNTERS],
    /// Whether the bee is up and looks for work.
    is_searching: AtomicBool,
}

impl BeeCounters {
    /// One more of what only the bee itself counts.
    #[inline(always)]
    pub(crate) fn increment(&self, counter: Counter) {
        let value = &self.values[counter as usize];
        // Relaxed, both: a figure for a reader's eyes, with one writer; not one operation, because that would cost twenty times as much.
        value.store(value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// One more of what others count for it, too.
    pub(crate) fn increment_shared(&self, counter: Counter) {
        // Relaxed: as above.
        self.values[counter as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, counter: Counter) -> u64 {
        // Relaxed: as above.
        self.values[counter as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn set_searching(&self, is_searching: bool) {
        // Release: pairs with the Acquire below. Who sees that the bee has stopped sees the post that it began before.
        self.is_searching.store(is_searching, Ordering::Release);
    }

    pub(crate) fn is_searching(&self) -> bool {
        // Acquire: as above.
        self.is_searching.load(Ordering::Acquire)
    }
}
