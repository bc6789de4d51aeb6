//! Whether a thread from outside of a task pool polls for the end of what it has handed over, before it sleeps.
//!
//! To poll pays if the end comes sooner than the thread could be woken: the one that ends the work then need not wake
//! anybody. If it does not come, polling costs more than its time. The kernel counts it as load of that CPU, and what
//! the pool wakes next, it puts elsewhere: it may be on the CPU of the very thread that has woken it. So each thread
//! learns from its last waits.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::sys::part_time::COST_OF_WAKING;

/// The highest score, and the lowest one with which a thread polls. A thread begins with the highest.
const MAX_SCORE: u8 = 3;
const GOOD_SCORE: u8 = 2;

thread_local! {
    /// One more for each wait of the calling thread that has ended as soon as polling would have met it, one less for
    /// each other one.
    static SCORE: Cell<u8> = const { Cell::new(MAX_SCORE) };
}

/// What a wait is to be learned from.
pub(crate) struct CallerPolling {
    polls: bool,
}

impl CallerPolling {
    /// What the calling thread has learned so far.
    pub(crate) fn begin() -> Self {
        Self { polls: SCORE.get() >= GOOD_SCORE }
    }

    /// How long to poll. If not at all, a few polls are made all the same, which take some microseconds.
    pub(crate) fn limit(&self) -> Duration {
        if self.polls { COST_OF_WAKING } else { Duration::ZERO }
    }

    /// Learns from a wait that polling has ended.
    pub(crate) fn learn_of_poll(self) {
        learn(true);
    }

    /// Runs `sleep`, and learns from that.
    #[cold]
    pub(crate) fn learn_of_sleep(self, sleep: impl FnOnce()) {
        let began = Instant::now();
        sleep();
        // Who has polled would not have slept if the end had come in time. For another, it came before this thread was
        // woken.
        learn(!self.polls && began.elapsed() <= 2 * COST_OF_WAKING);
    }
}

fn learn(is_soon: bool) {
    let score = SCORE.get();
    SCORE.set(if is_soon { MAX_SCORE.min(score + 1) } else { score.saturating_sub(1) });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polls() -> bool {
        CallerPolling::begin().limit() > Duration::ZERO
    }

    #[test]
    fn threads_stop_polling_for_what_takes_long_and_begin_again() {
        std::thread::spawn(|| {
            CallerPolling::begin().learn_of_poll();
            assert_eq!(SCORE.get(), MAX_SCORE);
            let until_quiet = (0..).find(|_| {
                CallerPolling::begin().learn_of_sleep(|| ());
                !polls()
            });
            assert_eq!(until_quiet, Some(1));
            (0..3).for_each(|_| CallerPolling::begin().learn_of_sleep(|| std::thread::sleep(4 * COST_OF_WAKING)));
            assert_eq!((polls(), SCORE.get()), (false, 0));
            (0..GOOD_SCORE).for_each(|_| CallerPolling::begin().learn_of_poll());
            assert!(polls());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_short_sleep_says_that_polling_would_have_paid() {
        std::thread::spawn(|| {
            SCORE.set(0);
            // A thread that is interrupted meanwhile tries once more.
            while !polls() {
                CallerPolling::begin().learn_of_sleep(|| ());
            }
        })
        .join()
        .unwrap();
    }
}
