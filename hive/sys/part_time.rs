//! How long a bee's part of a region has taken.

use std::time::{Duration, Instant};

use crate::sys::cost_of_waking::COST_OF_WAKING;

/// How much of a part, at most, may be the wait for the other bees to be woken, if the bee has met them at a barrier.
const LONGEST_WAIT: Duration = Duration::from_micros(100);

/// How long a bee's part of a region has taken.
#[derive(Clone, Copy)]
pub(crate) struct PartTime(Duration);

impl PartTime {
    /// The part that began at `begin` and ends now.
    pub(crate) fn since(begin: Instant) -> Self {
        Self(begin.elapsed())
    }

    /// Whether it has taken longer than it takes to wake a worker.
    pub(crate) fn is_long(self) -> bool {
        self.0 > COST_OF_WAKING
    }

    pub(crate) fn duration(self) -> Duration {
        self.0
    }

    /// The part without the time in which the bee may have waited for others to be woken, if it `has_met_others`.
    pub(crate) fn work(self, has_met_others: bool) -> Self {
        if has_met_others { Self(self.0.saturating_sub(LONGEST_WAIT)) } else { self }
    }
}

impl From<Duration> for PartTime {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_those_who_sleep_does_not_make_a_part_long() {
        let part = PartTime::from(LONGEST_WAIT + COST_OF_WAKING);
        assert!(part.work(false).is_long() && !part.work(true).is_long());
    }
}
