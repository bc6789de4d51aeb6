//! Whose deques may have tasks in them, a bit a member: whoever has nothing to do reads a word, and not the deques of
//! all members that there have ever been, of which each look takes two lines and a fence.
//!
//! Who has pushed: *fence*, and sets its bit where that is not set. A thief that finds a deque bare takes its bit away,
//! *fence*, and looks into the deque again; if there is something, it puts the bit back. One of the two fences comes
//! first. If the thief's, the owner finds the bit gone, and sets it. If the owner's, the thief's second look finds the
//! task. So a deque that has tasks has its bit, but while somebody is between these steps.
//!
//! Nobody goes to sleep on the strength of a bit: the last looks before that are into the deques themselves. A bit is
//! there too long where the owner has popped its last task itself, which must cost it nothing here; the next thief
//! takes it away.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, MARKS_PER_WORD, Ordering, fence};

pub(super) struct Work {
    words: Box<[CachePadded<AtomicU64>]>,
}

/// The bit of one member.
#[derive(Clone, Copy)]
pub(super) struct Mark<'w> {
    word: &'w AtomicU64,
    bit: u64,
}

impl Work {
    /// Of up to so many members, who have none.
    pub(super) fn new(members: u32) -> Self {
        Self { words: (0..members.div_ceil(MARKS_PER_WORD)).map(|_| CachePadded::new(AtomicU64::new(0))).collect() }
    }

    pub(super) fn of(&self, member: u32) -> Mark<'_> {
        Mark { word: &self.words[(member / MARKS_PER_WORD) as usize], bit: 1 << (member % MARKS_PER_WORD) }
    }

    /// Whether the deque of anybody up to `last`, but for `member`, may have tasks.
    #[inline]
    pub(super) fn is_another_marked(&self, member: u32, last: u32) -> bool {
        let words = &self.words[..=(last / MARKS_PER_WORD) as usize];
        let is_own = |number: u32| number == member / MARKS_PER_WORD;
        let own = |number: u32| if is_own(number) { 1 << (member % MARKS_PER_WORD) } else { 0 };
        // Relaxed: a hint.
        words.iter().zip(0..).any(|(word, number)| word.load(Ordering::Relaxed) & !own(number) != 0)
    }
}

impl Mark<'_> {
    /// The member has pushed tasks, and is about to see whom to tell of them. Executes a SeqCst fence.
    #[inline(always)]
    pub(super) fn has_pushed(self) {
        // Pairs with the one in `is_bare`, and, as every poster's, with those in `go_to_sleep` and `park`.
        fence(Ordering::SeqCst);
        if !self.is_set() {
            self.set();
        }
    }

    /// Whether its deque may have tasks.
    #[inline(always)]
    pub(super) fn is_set(self) -> bool {
        // Relaxed: a hint, but in `has_pushed`, where the fence orders it.
        self.word.load(Ordering::Relaxed) & self.bit != 0
    }

    // Apart: seldom, and not to be in the way of a push.
    #[cold]
    fn set(self) {
        // Relaxed: the fence of the caller orders it.
        self.word.fetch_or(self.bit, Ordering::Relaxed);
    }

    /// Somebody has found its deque bare, and takes the bit away. Says whether `look` still finds it so after that.
    #[cold]
    pub(super) fn is_bare(self, look: impl FnOnce() -> bool) -> bool {
        if !self.is_set() {
            // There is no bit to take away. Whoever pushes, or has taken it away, sets it if need be.
            return true;
        }
        // Relaxed: the fence orders it.
        self.word.fetch_and(!self.bit, Ordering::Relaxed);
        // Pairs with the one in `has_pushed`: the owner finds its bit gone, or its task is found here.
        fence(Ordering::SeqCst);
        let is_bare = look();
        if !is_bare {
            self.set();
        }
        is_bare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_has_a_bit_in_some_word() {
        let work = Work::new(130);
        for member in [0, 63, 64, 129] {
            let mark = work.of(member);
            assert!(!mark.is_set());
            mark.has_pushed();
            mark.has_pushed();
            assert!(mark.is_set() && !work.is_another_marked(member, 129));
            assert!([1, 62, 65, 128].iter().all(|&other| !work.of(other).is_set() && work.is_another_marked(other, 129)));
            assert!(mark.is_bare(|| true));
            assert!(!mark.is_set() && !work.is_another_marked(1, 129));
        }
    }

    #[test]
    fn who_finds_something_at_the_second_look_puts_the_bit_back() {
        let work = Work::new(2);
        work.of(1).has_pushed();
        assert!(!work.of(1).is_bare(|| false));
        assert!(work.of(1).is_set());
    }
}
