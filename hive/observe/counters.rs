//! What one bee has done so far, in numbers.
//!
//! Each bee's slot has a [`BeeCounters`]. The protocols count in it, and `Hive::stats` reads all of them: see
//! `stats.rs`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is counted. `stats::Counts` has a field for each, which says what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Regions,
    /// Parts of loops that the bee has run in other bees' names.
    StandIns,
    /// Loops that their callers have run alone: counted for the queen, by whichever thread has called.
    LoneLoops,
    Tasks,
    /// Steals, by the distance between thief and victim: see `protocol/neighbours.rs`.
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

/// The number of counters: `CancelledParks` is the last one.
pub(crate) const COUNTERS: usize = Counter::CancelledParks as usize + 1;

/// The counters of one bee. They are the standard library's atomics in the models of the protocols as well, so the
/// model checkers do not see them: no protocol decides anything by a count.
#[derive(Default)]
pub(crate) struct BeeCounters {
    /// The counts, by `Counter`. The bee writes most of them; a thread that parks the bee in its sleep, or cancels its
    /// order to park, counts that in the bee's counters.
    values: [AtomicU64; COUNTERS],
    /// How often the bee has put tasks into its deque. Only itself writes it.
    offers: AtomicU64,
    /// Whether the bee is awake and searches for work. The bee writes it, and so does the thread that wakes it from
    /// sleep. Only the count of rescues depends on it: see `Team::is_wake_lost`.
    is_searching: AtomicBool,
}

impl BeeCounters {
    /// Adds 1 to a counter that only the bee itself writes.
    #[inline(always)]
    pub(crate) fn increment(&self, counter: Counter) {
        let value = &self.values[counter as usize];
        // Relaxed, both: the number is only shown to people, and it has one writer. A load and a store, not one atomic
        // addition, because that would cost twenty times as much.
        value.store(value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Adds 1 to a counter that other threads write as well. Returns the sum.
    pub(crate) fn increment_shared(&self, counter: Counter) -> u64 {
        // Relaxed: the number is only shown to people.
        self.values[counter as usize].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The present value of a counter.
    pub(crate) fn get(&self, counter: Counter) -> u64 {
        // Relaxed: the number is only shown to people.
        self.values[counter as usize].load(Ordering::Relaxed)
    }

    /// Notes that the bee has put tasks into its deque.
    #[inline(always)]
    pub(crate) fn note_offer(&self) {
        // Relaxed, both, and no addition: as in `increment`.
        self.offers.store(self.offers.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// A number that changes with each task that the bee begins, and with each offer. While it stays the same, the bee
    /// does not come to the tasks in its deque.
    pub(crate) fn progress(&self) -> u64 {
        // Relaxed: a hint.
        self.get(Counter::Tasks).wrapping_add(self.offers.load(Ordering::Relaxed))
    }

    /// Says whether the bee searches for work from now on.
    pub(crate) fn set_searching(&self, is_searching: bool) {
        // Release: pairs with the Acquire in `is_searching`. A bee that has found work begins a step in flight
        // (`InFlight::begin`) before it stops searching, so a thread that sees here that the bee has stopped sees that
        // step as well.
        self.is_searching.store(is_searching, Ordering::Release);
    }

    /// Whether the bee searches for work.
    pub(crate) fn is_searching(&self) -> bool {
        // Acquire: pairs with the Release in `set_searching`.
        self.is_searching.load(Ordering::Acquire)
    }
}
