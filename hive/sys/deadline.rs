//! When a loop that its caller runs alone is started on the workers after all.

use crate::sys::clock;

/// The time until which a loop should have ended that its caller runs alone, as `clock` has it.
pub(crate) struct Deadline(u64);

impl Deadline {
    /// For a loop that begins at `begin` and may take so many nanoseconds.
    #[inline]
    pub(crate) fn new(begin: u64, nanos: u64) -> Self {
        Self(begin.saturating_add(nanos))
    }

    /// Whether the loop has taken longer.
    #[inline]
    pub(crate) fn has_passed(&self) -> bool {
        clock::nanos() >= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_when_the_time_has_passed() {
        const MINUTE: u64 = 60_000_000_000;
        let (now, minute_ago) = (clock::nanos(), clock::nanos().saturating_sub(MINUTE));
        assert!(!Deadline::new(now, MINUTE).has_passed());
        assert!(Deadline::new(minute_ago, 0).has_passed());
        assert!(!Deadline::new(minute_ago, 2 * MINUTE).has_passed());
        assert!(!Deadline::new(now, u64::MAX).has_passed());
    }
}
