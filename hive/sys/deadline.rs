//! When a loop that its caller runs alone is started on the workers after all.

use std::time::{Duration, Instant};

use crate::sys::cost_of_waking::COST_OF_WAKING;

/// The time until which a loop should have ended that is expected to be short.
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// For a loop that begins at `begin` and is expected to take so long. It may take longer by what it costs to wake a
    /// worker: then to wake the workers too late has cost no more than to wake them for nothing.
    pub(crate) fn new(begin: Instant, expected: Duration) -> Self {
        Self(begin + expected + COST_OF_WAKING)
    }

    /// Whether the loop has taken longer.
    pub(crate) fn has_passed(&self) -> bool {
        Instant::now() >= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_for_what_is_expected_and_for_a_wake_up() {
        let ago = |time| Instant::now().checked_sub(time).expect("the clock has run for a minute");
        let minute = Duration::from_secs(60);
        assert!(!Deadline::new(Instant::now(), minute).has_passed());
        assert!(Deadline::new(ago(minute), Duration::ZERO).has_passed());
        assert!(!Deadline::new(ago(minute), 2 * minute).has_passed());
    }
}
