//! A counter of the processor, for a thread that cannot afford to read a clock. On a core that has been idle, a clock
//! costs the cache lines of its code and its data; this costs one instruction. A [`Deadline`] is a moment by this
//! counter or by the clock.

use crate::sys::clock;

/// What the counter says. It goes on with time, on all CPUs alike. 0: the processor has none that hive knows.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "an instruction that std has no safe name for")]
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this instruction, which changes nothing. (Where the system forbids it, reading
    // the clock is forbidden, too.)
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[expect(unsafe_code, reason = "a register that std has no name for")]
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    let ticks;
    // SAFETY: the register is the counter of virtual time, which systems let programs read for their clocks.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn ticks() -> u64 {
    0
}

/// Some 50 us by the counter. (Where there is none, it stands still.) On x86-64 it goes on by two to five in a
/// nanosecond, and on ARM by one in 1 to 40 nanoseconds.
const SOON: u64 = if cfg!(target_arch = "x86_64") { 1 << 17 } else { 1 << 11 };

/// The time until which a loop should have ended that its caller runs alone. A loop that takes longer is started on the
/// workers after all.
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
        Self::Ticks(ticks().saturating_add(SOON))
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
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_deadline_passes_when_the_time_has_passed() {
        const MINUTE: u64 = 60_000_000_000;
        let (now, minute_ago) = (clock::nanos(), clock::nanos().saturating_sub(MINUTE));
        assert!(!Deadline::new(now, MINUTE).has_passed());
        assert!(Deadline::new(minute_ago, 0).has_passed());
        assert!(!Deadline::new(minute_ago, 2 * MINUTE).has_passed());
        assert!(!Deadline::new(now, u64::MAX).has_passed());
        let soon = Deadline::soon();
        sleep(Duration::from_millis(20));
        assert_eq!(soon.has_passed(), ticks() > 0);
    }
}
