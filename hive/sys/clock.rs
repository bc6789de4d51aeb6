//! The time as a number of nanoseconds, for what is learned from how long something takes. After a processor has slept,
//! each cache line of code has to be fetched anew, and this takes fewer of them than `Instant` and `Duration`.

/// The time of a clock that never goes back, in nanoseconds since some moment in the past.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a call of the C library")]
#[inline]
pub(crate) fn nanos() -> u64 {
    /// The clock of `std::time::Instant`. Apple's monotonic clock counts whole microseconds.
    #[cfg(target_vendor = "apple")]
    const CLOCK: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
    #[cfg(not(target_vendor = "apple"))]
    const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the result. The call cannot fail: every Unix has this clock.
    unsafe { libc::clock_gettime(CLOCK, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(not(unix))]
pub(crate) fn nanos() -> u64 {
    use std::time::Instant;

    use crate::sys::process::PerProcess;

    static FIRST_USE: PerProcess<Instant> = PerProcess::new();
    // Never 0, so that nobody takes the first time for none.
    FIRST_USE.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

/// How long ago `begin` was, in nanoseconds. 0 if the clock has gone back all the same, as it may where a machine is
/// stopped and goes on elsewhere.
#[inline]
pub(crate) fn nanos_since(begin: u64) -> u64 {
    nanos().saturating_sub(begin)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_goes_on_as_time_does() {
        let begin = nanos();
        assert!(begin > 0);
        let time = Duration::from_millis(2);
        thread::sleep(time);
        assert!(nanos_since(begin) >= time.as_nanos() as u64);
    }
}
