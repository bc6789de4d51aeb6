//! Sleep as Rayon had it first: one sleepy member at a time, known by name in a single word, and a post that wakes all sleepers at once.
//!
//! It needs no counter that could come round. Its price is that every post in a time of little work wakes everybody.

use super::{Announced, Protocol};
use crate::sync::{AtomicU32, Ordering};

/// Bit 0: somebody sleeps. The rest: the number of the sleepy member, plus one; 0: there is none.
const ASLEEP: u32 = 1;

pub(super) struct Tickle {
    word: AtomicU32,
    /// Members without work, asleep or not: for joins to know whether to share.
    inactive: AtomicU32,
}

impl Tickle {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(0), inactive: AtomicU32::new(0) }
    }

    /// The word, where `member` is the sleepy one and nothing else is said.
    fn sleepy(member: u32) -> u32 {
        (member + 1) << 1
    }

    /// A member that is sleepy is so no longer: others may have their turn.
    fn cheer_up(&self, member: u32) {
        let sleepy = Self::sleepy(member);
        // Relaxed, all: the sleepy member's own step, or that of who has parked it, and whoever reads a stale word tries once more or swaps a word in vain.
        if self.word.load(Ordering::Relaxed) & !ASLEEP == sleepy {
            let cheer_up = |word: u32| (word & !ASLEEP == sleepy).then_some(word & ASLEEP);
            // Step: not sleepy
            let _ = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, cheer_up);
        }
    }
}

impl Protocol for Tickle {
    fn search(&self, _me: u32) {
        // Relaxed: a count; nothing is handed on by it.
        self.inactive.fetch_add(1, Ordering::Relaxed);
    }

    /// Nobody relies on one who searches: a post wakes all sleepers.
    fn find(&self, me: u32) -> bool {
        // Step: cheer up
        self.park(me);
        false
    }

    /// Makes `me` the sleepy one. None while another is.
    fn announce(&self, me: u32) -> Option<Announced> {
        let sleepy = Self::sleepy(me);
        let become_sleepy = |word: u32| (word & !ASLEEP == 0 || word & !ASLEEP == sleepy).then_some(word & ASLEEP | sleepy);
        // Relaxed: the fences of whoever posts and whoever sleeps order what must not be missed.
        // Step: sleepy
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, become_sleepy).ok()?;
        Some(Announced(sleepy))
    }

    /// The sleepy member is a sleeper like the others, unless something has been posted since it became sleepy.
    fn confirm(&self, _me: u32, announced: Announced) -> bool {
        let join_sleepers = |word: u32| (word & !ASLEEP == announced.0).then_some(ASLEEP);
        // Relaxed: as above.
        // Step: asleep
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join_sleepers).is_ok()
    }

    fn park(&self, member: u32) {
        // Relaxed: as above.
        let before = self.inactive.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer inactive than none");
        // Step: cheer up
        self.cheer_up(member);
    }

    /// Nobody is sleepy any more, and all who sleep are to be woken.
    fn post(&self, _jobs: u32) -> u32 {
        // Relaxed, both: the fence before this orders them. The look spares a busy time the swap.
        // Step: look
        // Step: tickle
        if self.word.load(Ordering::Relaxed) != 0 && self.word.swap(0, Ordering::Relaxed) & ASLEEP != 0 { u32::MAX } else { 0 }
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
    fn one_at_a_time_is_sleepy() {
        let tickle = Tickle::new();
        let first = tickle.announce(3).expect("nobody else is");
        assert_eq!(tickle.announce(3), Some(first), "still");
        assert_eq!(tickle.announce(4), None);
        assert!(tickle.confirm(3, first));
        assert!(tickle.announce(4).is_some());
    }

    #[test]
    fn who_finds_work_gives_others_their_turn() {
        let tickle = Tickle::new();
        tickle.search(1);
        tickle.announce(1).unwrap();
        tickle.find(1);
        assert!(tickle.announce(2).is_some());
    }

    #[test]
    fn a_post_wakes_the_sleepy_and_all_sleepers() {
        let tickle = Tickle::new();
        assert_eq!(tickle.post(1), 0, "nobody sleeps");
        let sleepy = tickle.announce(1).unwrap();
        assert_eq!(tickle.post(1), 0, "nobody sleeps yet");
        assert!(!tickle.confirm(1, sleepy), "something was posted");
        let sleepy = tickle.announce(1).unwrap();
        assert!(tickle.confirm(1, sleepy));
        assert_eq!(tickle.post(1), u32::MAX);
        assert_eq!(tickle.post(1), 0, "all have been woken");
    }
}
