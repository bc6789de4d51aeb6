//! Sleep by tickling, after Rayon's first design. One bee at a time is sleepy, and a single word has its number. A post
//! wakes all sleepers at once. See `docs/sleep.md`.
//!
//! The protocol needs no counter that could wrap. Its price is that, while there is little work, each post wakes
//! everybody.

use crate::protocol::tasks::sleep::{SleepAlgorithm, SleepToken};
use crate::sync::{AtomicU32, Ordering};

/// Bit 0 of the word: at least one bee is asleep. The other bits are the number of the sleepy bee plus one, or 0 if no
/// bee is sleepy.
const ASLEEP: u32 = 1;

/// The protocol. At first no bee is asleep, sleepy or without work.
#[derive(Default)]
pub(crate) struct Tickle {
    /// See `ASLEEP`. Written by bees that become sleepy, fall asleep or find work, and by those that post.
    word: AtomicU32,
    /// The bees without work, asleep or not: for joins, to know whether to share.
    inactive: AtomicU32,
}

impl Tickle {
    /// The bees without work.
    pub(crate) fn inactive(&self) -> u32 {
        // Relaxed: a hint.
        self.inactive.load(Ordering::Relaxed)
    }

    /// The word in which bee `bee` is the sleepy one and no bee is asleep.
    fn sleepy_word(bee: u32) -> u32 {
        (bee + 1) << 1
    }

    /// Lets other bees become sleepy, if bee `bee` is the sleepy one.
    fn clear_sleepy(&self, bee: u32) {
        let sleepy = Self::sleepy_word(bee);
        // Relaxed, all three: this is a step of the sleepy bee itself or of the thread that has parked it. A thread
        // that reads an old word tries again, or swaps a word for nothing.
        if self.word.load(Ordering::Relaxed) & !ASLEEP == sleepy {
            // The flag that others are asleep stays.
            let clear = |word: u32| (word & !ASLEEP == sleepy).then_some(word & ASLEEP);
            // Step: not sleepy
            let _ = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, clear);
        }
    }
}

impl SleepAlgorithm for Tickle {
    fn begin_search(&self, _me: u32) {
        // Relaxed: a count; it publishes nothing.
        self.inactive.fetch_add(1, Ordering::Relaxed);
    }

    /// No bee relies on one that searches, because each post wakes all sleepers. So there is never anything to pass on.
    fn end_search(&self, me: u32) -> bool {
        // Step: clear sleepy
        self.count_parked(me);
        false
    }

    /// Makes `me` the sleepy bee. None while another bee is.
    fn announce_sleepy(&self, me: u32) -> Option<SleepToken> {
        let sleepy = Self::sleepy_word(me);
        // Other bees may be asleep; that flag stays.
        let become_sleepy =
            |word: u32| (word & !ASLEEP == 0 || word & !ASLEEP == sleepy).then_some(word & ASLEEP | sleepy);
        // Relaxed, both: what must not be missed is ordered by the fences of the bees that post and of those that
        // sleep.
        // Step: sleepy
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, become_sleepy).ok()?;
        Some(SleepToken(sleepy))
    }

    /// Makes the sleepy bee a sleeper like the others, unless something has been posted since it became sleepy. This
    /// comes after its state is ASLEEP. If it came before, a post in between would clear the flag and wake all sleepers
    /// but this one, and no later post would know of it.
    fn confirm_asleep(&self, _me: u32, token: SleepToken) -> bool {
        // The bee becomes one of those that bit 0 stands for.
        let join_sleepers = |word: u32| (word & !ASLEEP == token.0).then_some(ASLEEP);
        // Relaxed, both: for the same reason as in `announce_sleepy`.
        // Step: asleep
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join_sleepers).is_ok()
    }

    /// Takes off a bee that no longer searches or sleeps.
    fn count_parked(&self, bee: u32) {
        // Relaxed: a count; it publishes nothing.
        let before = self.inactive.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer inactive than none");
        // Step: clear sleepy
        self.clear_sleepy(bee);
    }

    /// Clears the word, so that no bee is sleepy any more. If any bee was asleep, all that sleep are to be woken.
    fn announce_jobs(&self, _jobs: u32) -> u32 {
        // Relaxed, both: the fence that the caller has executed orders them. In a busy time the load avoids the swap.
        // Step: look
        // Step: tickle
        if self.word.load(Ordering::Relaxed) != 0 && self.word.swap(0, Ordering::Relaxed) & ASLEEP != 0 {
            u32::MAX
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bee_at_a_time_is_sleepy() {
        let tickle = Tickle::default();
        let first = tickle.announce_sleepy(3).expect("nobody else is");
        assert_eq!(tickle.announce_sleepy(3), Some(first), "still");
        assert_eq!(tickle.announce_sleepy(4), None);
        assert!(tickle.confirm_asleep(3, first));
        assert!(tickle.announce_sleepy(4).is_some());
    }

    #[test]
    fn a_bee_that_finds_work_lets_another_be_sleepy() {
        let tickle = Tickle::default();
        tickle.begin_search(1);
        tickle.announce_sleepy(1).unwrap();
        tickle.end_search(1);
        assert!(tickle.announce_sleepy(2).is_some());
    }

    #[test]
    fn new_jobs_wake_the_sleepy_bee_and_all_sleepers() {
        let tickle = Tickle::default();
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
