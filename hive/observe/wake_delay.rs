//! How long it takes until a sleeping worker is there to help with a loop, as it is measured: on one machine some ten
//! microseconds, on another some hundreds, and more the longer the CPUs have been idle. `pool/lone_parts.rs` asks
//! for it to decide whether to wake the workers for a loop.
//!
//! It is guesswork about speed, and so several threads may use it without a lock, and an update may get lost.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::clock;
use crate::sys::part_time::NANOS_OF_WAKING;

/// The shortest delay, whatever was measured: to wake a thread takes CPU time from others as well.
const SHORTEST: u64 = NANOS_OF_WAKING / 2;

/// What counts as the longest delay. Longer ones say that a thread has not run, for whatever reason.
const LONGEST: u64 = 20 * NANOS_OF_WAKING;

/// What the first measurement counts as at most. It is the one that meets the most code for the first time.
const LONGEST_AT_FIRST: u64 = 4 * NANOS_OF_WAKING;

/// How long the first worker takes to come to a loop that finds all workers asleep.
#[derive(Default)]
pub(crate) struct WakeDelay {
    /// When the last loop was begun for which workers are woken, as `clock` has it; 0 if a worker has come to it.
    begun_at: AtomicU64,
    /// The delay in nanoseconds; 0: it was never measured.
    delay: AtomicU64,
}

impl WakeDelay {
    /// The delay in nanoseconds.
    #[inline]
    pub(crate) fn nanos(&self) -> u64 {
        // Relaxed, all in this file: hints.
        match self.delay.load(Ordering::Relaxed) {
            0 => NANOS_OF_WAKING,
            delay => delay,
        }
    }

    /// Says that the workers, who are all asleep, are woken for a loop that begins at `now`.
    pub(crate) fn note_loop(&self, now: u64) {
        self.begun_at.store(now, Ordering::Relaxed);
    }

    /// Whether no worker has come yet since `note_loop`.
    pub(crate) fn is_awaited(&self) -> bool {
        self.begun_at.load(Ordering::Relaxed) > 0
    }

    /// Says that the loop has not been run.
    pub(crate) fn forget_loop(&self) {
        self.begun_at.store(0, Ordering::Relaxed);
    }

    /// Says that the calling worker, which was asleep, has come to a region, or too late for it. The first one since
    /// `note_loop` is the one that counts.
    pub(crate) fn note_arrival(&self) {
        let begun_at = self.begun_at.load(Ordering::Relaxed);
        if begun_at > 0 {
            self.forget_loop();
            self.record(clock::nanos().saturating_sub(begun_at));
        }
    }

    /// Says that a loop is run alone because the delay is long. It is measured only where workers are woken, so it has
    /// to become shorter by itself, or they might never be woken again. One loop in ten or so wakes them in vain then.
    pub(crate) fn doubt(&self) {
        let delay = self.nanos();
        self.delay.store(delay - delay / 32, Ordering::Relaxed);
    }

    /// Records one delay. The value follows short ones faster than long ones, because waking a worker in vain costs
    /// less than what its help gains: if the delays vary, about a quarter of them are shorter than the value.
    fn record(&self, measured: u64) {
        let delay = match self.delay.load(Ordering::Relaxed) {
            0 => measured.min(LONGEST_AT_FIRST),
            known => measured.clamp(known / 2, known + known / 4),
        };
        self.delay.store(delay.clamp(SHORTEST, LONGEST), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_is_measured_and_short_delays_faster() {
        let delay = WakeDelay::default();
        assert_eq!(delay.nanos(), NANOS_OF_WAKING);
        let records = |of: u64| {
            delay.record(of * NANOS_OF_WAKING);
            delay.nanos() / NANOS_OF_WAKING
        };
        assert_eq!([4, 100, 100, 2, 2, 2].map(records), [4, 5, 6, 3, 2, 2]);
        (0..10).for_each(|_| delay.record(1));
        assert_eq!(delay.nanos(), SHORTEST);
        (0..100).for_each(|_| delay.record(u64::MAX));
        assert_eq!(delay.nanos(), LONGEST);
    }

    #[test]
    fn where_most_come_late_and_some_soon_the_workers_are_still_woken() {
        let delay = WakeDelay::default();
        (0..100).for_each(|number| delay.record(if number % 3 == 0 { NANOS_OF_WAKING } else { LONGEST }));
        assert!(delay.nanos() < 2 * NANOS_OF_WAKING, "{}", delay.nanos());
    }

    #[test]
    fn only_the_first_worker_that_comes_to_a_loop_is_timed() {
        let delay = WakeDelay::default();
        delay.note_arrival();
        assert_eq!(delay.nanos(), NANOS_OF_WAKING, "there was no loop");
        delay.note_loop(u64::MAX);
        delay.note_arrival();
        assert_eq!(delay.nanos(), SHORTEST);
        delay.begun_at.store(1, Ordering::Relaxed);
        delay.forget_loop();
        delay.note_arrival();
        assert_eq!(delay.nanos(), SHORTEST, "nobody was woken");
    }

    #[test]
    fn a_long_delay_is_doubted_until_workers_are_woken_again() {
        let delay = WakeDelay::default();
        delay.record(4 * NANOS_OF_WAKING);
        let until_short = (1..).find(|_| {
            delay.doubt();
            delay.nanos() <= NANOS_OF_WAKING
        });
        assert_eq!(until_short, Some(44));
    }
}
