//! How long a bee's part of a region has taken, and how long it takes to wake a worker: a part is long or short beside
//! that.

use std::time::{Duration, Instant};

/// About the time from the wake-up of a thread, whose CPU is idle, until it runs: what it costs to wake a worker, where
/// that has not been measured (`observe/wake_delay.rs`). Whoever has to choose between that and something else takes
/// this number: for example how long a worker polls before it sleeps (`poll_time.rs`).
pub(crate) const COST_OF_WAKING: Duration = Duration::from_micros(50);

/// The same in nanoseconds.
pub(crate) const NANOS_OF_WAKING: u64 = COST_OF_WAKING.as_nanos() as u64;

/// How much of a part, at most, may be the wait for the other bees to be woken, if the bee has met them at a barrier.
const LONGEST_WAIT: Duration = Duration::from_micros(100);

/// How long a bee's part of a region has taken.
#[derive(Clone, Copy)]
pub(crate) struct PartTime(pub(crate) Duration);

impl PartTime {
    /// The part that began at `begin` and ends now.
    pub(crate) fn since(begin: Instant) -> Self {
        Self(begin.elapsed())
    }

    /// Whether it has taken longer than it takes to wake a worker.
    pub(crate) fn is_long(self) -> bool {
        self.0 > COST_OF_WAKING
    }

    /// The part without the time in which the bee may have waited for others to be woken, if it `has_met_others`.
    pub(crate) fn work(self, has_met_others: bool) -> Self {
        if has_met_others { Self(self.0.saturating_sub(LONGEST_WAIT)) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_those_who_sleep_does_not_make_a_part_long() {
        let part = PartTime(LONGEST_WAIT + COST_OF_WAKING);
        assert!(part.work(false).is_long() && !part.work(true).is_long());
    }
}
