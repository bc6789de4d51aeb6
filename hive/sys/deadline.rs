//! When a loop that its caller runs alone is started on the workers after all.

use crate::sys::clock;
use crate::sys::ticks::ticks;

/// Some 50 us. (Where there is no counter, it stands still.) On x86-64 it goes on by two to five in a nanosecond, and
/// on ARM by one in 1 to 40 nanoseconds.
const TICKS: u64 = if cfg!(target_arch = "x86_64") { 1 << 17 } else { 1 << 11 };

/// The time until which a loop should have ended that its caller runs alone.
#[derive(Clone, Copy)]
pub(crate) enum Deadline {
    /// As `clock` has it.
    Time(u64),
    /// As the processor's counter has it: to read that costs less.
    Ticks(u64),
}

impl Deadline {
    /// For a loop that begins at `begin` and may take so many nanoseconds.
    #[inline]
    pub(crate) fn new(begin: u64, nanos: u64) -> Self {
        Self::Time(begin.saturating_add(nanos))
    }

    /// For a loop that begins now and is expected to take next to no time.
    #[inline]
    pub(crate) fn soon() -> Self {
        Self::Ticks(ticks().saturating_add(TICKS))
    }

    /// Whether the loop has taken longer.
    #[inline]
    pub(crate) fn has_passed(&self) -> bool {
        match *self {
            Self::Time(deadline) => clock::nanos() >= deadline,
            Self::Ticks(deadline) => ticks() >= deadline,
        }
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
        let soon = Deadline::soon();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(soon.has_passed(), ticks() > 0);
    }
}
