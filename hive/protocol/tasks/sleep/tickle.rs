//! Sleep as Rayon had it first: one sleepy bee at a time, known by name in a single word, and a post that wakes all sleepers at once.
//!
//! It needs no counter that could come round. Its price is that every post in a time of little work wakes everybody.

use crate::protocol::tasks::sleep::{SleepAlgorithm, SleepToken};
use crate::sync::{AtomicU32, Ordering};

/// Bit 0: somebody sleeps. The rest: the number of the sleepy bee, plus one; 0: there is none.
const ASLEEP: u32 = 1;

pub(crate) struct Tickle {
    word: AtomicU32,
    /// Bees without work, asleep or not: for joins to know whether to share.
    inactive: AtomicU32,
}

impl Tickle {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(0), inactive: AtomicU32::new(0) }
    }

    /// The word, where `member` is the sleepy one and nothing else is said.
    fn sleepy_word(bee: u32) -> u32 {
        (bee + 1) << 1
    }

    /// A bee that is sleepy is so no longer: others may have their turn.
    fn clear_sleepy(&self, bee: u32) {
        let sleepy = Self::sleepy_word(bee);
        // Relaxed, all: the sleepy bee's own step, or that of who has parked it, and whoever reads a stale word tries once more or swaps a word in vain.
        if self.word.load(Ordering::Relaxed) & !ASLEEP == sleepy {
            let clear = |word: u32| (word & !ASLEEP == sleepy).then_some(word & ASLEEP);
            // Step: not sleepy
            let _ = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, clear);
        }
    }
}

impl SleepAlgorithm for Tickle {
    fn begin_search(&self, _me: u32) {
        // Relaxed: a count; nothing is handed on by it.
        self.inactive.fetch_add(1, Ordering::Relaxed);
    }

    /// Nobody relies on one who searches: a post wakes all sleepers.
    fn end_search(&self, me: u32) -> bool {
        // Step: cheer up
        self.count_parked(me);
        false
    }

    /// Makes `me` the sleepy one. None while another is.
    fn announce_sleepy(&self, me: u32) -> Option<SleepToken> {
        let sleepy = Self::sleepy_word(me);
        let become_sleepy =
            |word: u32| (word & !ASLEEP == 0 || word & !ASLEEP == sleepy).then_some(word & ASLEEP | sleepy);
        // Relaxed: the fences of whoever posts and whoever sleeps order what must not be missed.
        // Step: sleepy
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, become_sleepy).ok()?;
        Some(SleepToken(sleepy))
    }

    /// The sleepy bee is a sleeper like the others, unless something has been posted since it became sleepy.
    fn confirm_asleep(&self, _me: u32, token: SleepToken) -> bool {
        let join_sleepers = |word: u32| (word & !ASLEEP == token.0).then_some(ASLEEP);
        // Relaxed: as above.
        // Step: asleep
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join_sleepers).is_ok()
    }

    fn count_parked(&self, bee: u32) {
        // Relaxed: as above.
        let before = self.inactive.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer inactive than none");
        // Step: cheer up
        self.clear_sleepy(bee);
    }

    /// Nobody is sleepy any more, and all who sleep are to be woken.
    fn announce_jobs(&self, _jobs: u32) -> u32 {
        // Relaxed, both: the fence before this orders them. The look spares a busy time the swap.
        // Step: look
        // Step: tickle
        if self.word.load(Ordering::Relaxed) != 0 && self.word.swap(0, Ordering::Relaxed) & ASLEEP != 0 {
            u32::MAX
        } else {
            0
        }
    }

    #[inline(always)]
    fn inactive(&self) -> u32 {
        // Relaxed: a hint.
        self.inactive.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bee_at_a_time_is_sleepy() {
        let tickle = Tickle::new();
        let first = tickle.announce_sleepy(3).expect("nobody else is");
        assert_eq!(tickle.announce_sleepy(3), Some(first), "still");
        assert_eq!(tickle.announce_sleepy(4), None);
        assert!(tickle.confirm_asleep(3, first));
        assert!(tickle.announce_sleepy(4).is_some());
    }

    #[test]
    fn a_bee_that_finds_work_lets_another_be_sleepy() {
        let tickle = Tickle::new();
        tickle.begin_search(1);
        tickle.announce_sleepy(1).unwrap();
        tickle.end_search(1);
        assert!(tickle.announce_sleepy(2).is_some());
    }

    #[test]
    fn new_jobs_wake_the_sleepy_bee_and_all_sleepers() {
        let tickle = Tickle::new();
        assert_eq!(tickle.announce_jobs(1), 0, "nobody sleeps");
        let sleepy = tickle.announce_sleepy(1).unwrap();
        assert_eq!(tickle.announce_jobs(1), 0, "nobody sleeps yet");
        assert!(!tickle.confirm_asleep(1, sleepy), "something was posted");
        let sleepy = tickle.announce_sleepy(1).unwrap();
        assert!(tickle.confirm_asleep(1, sleepy));
        assert_eq!(tickle.announce_jobs(1), u32::MAX);
        assert_eq!(tickle.announce_jobs(1), 0, "all have been woken");
    }
}
