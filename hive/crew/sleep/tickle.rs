//! Sleep as Rayon had it first: one sleepy member at a time, known by name in a single word, and a post that wakes all sleepers at once.
//!
//! It needs no counter that could come round. Its price is that every post in a time of little work wakes everybody.

use super::Announced;
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

    pub(super) fn search(&self) {
        // Relaxed: a count; nothing is handed on by it.
        self.inactive.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn find(&self) {
        // Relaxed: as above.
        let before = self.inactive.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one fewer inactive than none");
    }

    /// Makes `member` the sleepy one. None while another is.
    pub(super) fn announce(&self, member: u32) -> Option<Announced> {
        let sleepy = (member + 1) << 1;
        let become_sleepy = |word: u32| (word & !ASLEEP == 0 || word & !ASLEEP == sleepy).then_some(word & ASLEEP | sleepy);
        // Relaxed: the fences of whoever posts and whoever sleeps order what must not be missed.
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, become_sleepy).ok()?;
        Some(Announced(sleepy))
    }

    /// The sleepy member, whose state is ASLEEP by now, is a sleeper like the others, unless something has been posted since it became sleepy.
    pub(super) fn confirm(&self, announced: Announced) -> bool {
        let join_sleepers = |word: u32| (word & !ASLEEP == announced.0).then_some(ASLEEP);
        // Relaxed: as above.
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join_sleepers).is_ok()
    }

    /// Nobody is sleepy any more. Whether all who sleep are to be woken.
    pub(super) fn post(&self) -> bool {
        // Relaxed, both: the fence before this orders them. The look spares a busy time the swap.
        self.word.load(Ordering::Relaxed) != 0 && self.word.swap(0, Ordering::Relaxed) & ASLEEP != 0
    }

    #[inline(always)]
    pub(super) fn is_anybody_inactive(&self) -> bool {
        // Relaxed: a hint.
        self.inactive.load(Ordering::Relaxed) > 0
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
        assert!(tickle.confirm(first));
        assert!(tickle.announce(4).is_some());
    }

    #[test]
    fn a_post_wakes_the_sleepy_and_all_sleepers() {
        let tickle = Tickle::new();
        assert!(!tickle.post(), "nobody sleeps");
        let sleepy = tickle.announce(1).unwrap();
        assert!(!tickle.post(), "nobody sleeps yet");
        assert!(!tickle.confirm(sleepy), "something was posted");
        let sleepy = tickle.announce(1).unwrap();
        assert!(tickle.confirm(sleepy));
        assert!(tickle.post());
        assert!(!tickle.post(), "all have been woken");
    }
}
