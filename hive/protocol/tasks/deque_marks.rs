//! Marks that say which bees' deques may have tasks in them, one bit for each bee. A bee without work reads a word of
//! them instead of the deques of all bees that there have ever been; to look into one deque takes two cache lines and a
//! fence.
//!
//! - A bee that has pushed tasks executes a fence, and sets its bit if that is not set.
//! - A thief that finds a deque empty clears its bit, executes a fence, and looks into the deque again. If there is a
//!   task now, it sets the bit again.
//!
//! One of the two fences comes first. If it is the thief's, the owner finds its bit cleared, and sets it. If it is the
//! owner's, the thief's second look finds the task. So a deque that has tasks has its bit, except while a bee is
//! between these steps.
//!
//! Because of that exception no bee falls asleep on the strength of a bit: the last checks before that look into the
//! deques themselves. A bit may also be set for too long, when an owner has popped its last task. The owner does
//! nothing about that, because a pop is to cost nothing here; the next thief clears the bit. See `docs/sleep.md`.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, MARKS_PER_WORD, Ordering, fence};

/// The marks of all bees of a team.
pub(crate) struct DequeMarks {
    /// Each word has the bits of `MARKS_PER_WORD` bees. A bit is set by its own bee, or by a thief that has cleared it
    /// too early, and cleared by thieves.
    words: Box<[CachePadded<AtomicU64>]>,
}

/// The mark of one bee: its bit, and the word that has it.
#[derive(Clone, Copy)]
pub(crate) struct DequeMark<'w> {
    /// The word, shared with the other bees of the same `MARKS_PER_WORD`.
    word: &'w AtomicU64,
    /// The bee's bit in that word.
    bit: u64,
}

impl DequeMarks {
    /// Marks for up to `max_bees` bees, none of which is set.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self { words: (0..max_bees.div_ceil(MARKS_PER_WORD)).map(|_| CachePadded::new(AtomicU64::new(0))).collect() }
    }

    /// The mark of bee `bee`.
    pub(crate) fn mark_of(&self, bee: u32) -> DequeMark<'_> {
        DequeMark { word: &self.words[(bee / MARKS_PER_WORD) as usize], bit: 1 << (bee % MARKS_PER_WORD) }
    }

    /// Whether a deque of any bee up to number `last`, except bee `bee`, may have tasks.
    #[inline]
    pub(crate) fn is_another_marked(&self, bee: u32, last: u32) -> bool {
        // Words of bees that were never hired are not looked at.
        let words = &self.words[..=(last / MARKS_PER_WORD) as usize];
        let is_own = |number: u32| number == bee / MARKS_PER_WORD;
        let own_bit = |number: u32| if is_own(number) { 1 << (bee % MARKS_PER_WORD) } else { 0 };
        // Relaxed: a hint. A bee that misses a mark looks into the deques themselves before it falls asleep.
        words.iter().zip(0..).any(|(word, number)| word.load(Ordering::Relaxed) & !own_bit(number) != 0)
    }
}

/// What a thief finds that looks once more into a deque that was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DequeLook {
    /// There is a task.
    HasTask,
    /// The deque is empty, and its mark is not set.
    Unmarked,
    /// The deque is empty, and this thief has cleared its mark.
    Cleared,
}

impl DequeMark<'_> {
    /// Executes a SeqCst fence, and then sets the mark. Called by the owner of the deque after it has pushed tasks, and
    /// before it finds out which bees to tell of them.
    #[inline(always)]
    pub(crate) fn announce_push(self) {
        // Pairs with the fence in `clear_if_empty`: either the mark is found cleared below, or the thief finds the
        // task. Also pairs, as the fence of every bee that posts tasks, with those in `TaskContext::go_to_sleep` and
        // `TaskContext::park`.
        fence(Ordering::SeqCst);
        // In a busy time the mark is set already, and is only read.
        if !self.is_set() {
            self.set();
        }
    }

    /// Whether the deque may have tasks.
    #[inline(always)]
    pub(crate) fn is_set(self) -> bool {
        // Relaxed: a hint, except in `announce_push`, where the fence orders it.
        self.word.load(Ordering::Relaxed) & self.bit != 0
    }

    // Kept out of line: it happens rarely, and inlining it would slow each push. But it happens where a core has been
    // idle, so it is not `#[cold]`, which would put it onto another page of code.
    #[inline(never)]
    fn set(self) {
        // Relaxed: the fence that the caller has executed orders it.
        self.word.fetch_or(self.bit, Ordering::Relaxed);
    }

    /// Clears the mark of a deque that the caller has found empty. `is_empty` looks into the deque again; if that has a
    /// task, the mark is set again.
    #[cold]
    pub(crate) fn clear_if_empty(self, is_empty: impl FnOnce() -> bool) -> DequeLook {
        if !self.is_set() {
            // There is nothing to clear. The thread that has cleared the mark, or the owner when it pushes, sets it if
            // necessary.
            return DequeLook::Unmarked;
        }
        // Relaxed: the fence below orders it.
        let before = self.word.fetch_and(!self.bit, Ordering::Relaxed);
        // Pairs with the fence in `announce_push`: either the owner finds its mark cleared, or its task is found here.
        fence(Ordering::SeqCst);
        if !is_empty() {
            self.set();
            DequeLook::HasTask
        } else if before & self.bit != 0 {
            DequeLook::Cleared
        } else {
            // Another thread has cleared it meanwhile.
            DequeLook::Unmarked
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bee_has_a_bit_in_some_word() {
        let marks = DequeMarks::new(130);
        for bee in [0, 63, 64, 129] {
            let mark = marks.mark_of(bee);
            assert!(!mark.is_set());
            mark.announce_push();
            mark.announce_push();
            assert!(mark.is_set() && !marks.is_another_marked(bee, 129));
            assert!(
                [1, 62, 65, 128]
                    .iter()
                    .all(|&other| !marks.mark_of(other).is_set() && marks.is_another_marked(other, 129))
            );
            assert_eq!(mark.clear_if_empty(|| true), DequeLook::Cleared);
            assert_eq!(mark.clear_if_empty(|| true), DequeLook::Unmarked);
            assert!(!mark.is_set() && !marks.is_another_marked(1, 129));
        }
    }

    #[test]
    fn a_task_found_at_the_second_look_puts_the_bit_back() {
        let marks = DequeMarks::new(2);
        marks.mark_of(1).announce_push();
        assert_eq!(marks.mark_of(1).clear_if_empty(|| false), DequeLook::HasTask);
        assert!(marks.mark_of(1).is_set());
    }
}
