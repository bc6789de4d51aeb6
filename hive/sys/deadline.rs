//! When a loop that its caller runs alone is started on the workers after all.

use std::time::{Duration, Instant};

/// The time until which a loop should have ended that its caller runs alone.
pub(crate) struct Deadline {
    begin: Instant,
    /// How long after that it passes.
    time: Duration,
}

impl Deadline {
    /// For a loop that begins at `begin` and may take so long.
    #[inline]
    pub(crate) fn new(begin: Instant, time: Duration) -> Self {
        Self { begin, time }
    }

    /// Whether the loop has taken longer.
    pub(crate) fn has_passed(&self) -> bool {
        self.begin.elapsed() >= self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_when_the_time_has_passed() {
        let ago = |time| Instant::now().checked_sub(time).expect("the clock has run for a minute");
        let minute = Duration::from_secs(60);
        assert!(!Deadline::new(Instant::now(), minute).has_passed());
        assert!(Deadline::new(ago(minute), Duration::ZERO).has_passed());
        assert!(!Deadline::new(ago(minute), 2 * minute).has_passed());
    }
}
