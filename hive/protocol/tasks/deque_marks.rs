//! Whose deques may have tasks in them, a bit a bee: whoever has nothing to do reads a word, and not the deques of
//! all bees that there have ever been, of which each look takes two lines and a fence.
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

pub(crate) struct DequeMarks {
    words: Box<[CachePadded<AtomicU64>]>,
}

/// The bit of one bee.
#[derive(Clone, Copy)]
pub(crate) struct DequeMark<'w> {
    word: &'w AtomicU64,
    bit: u64,
}

impl DequeMarks {
    /// Of up to so many bees, who have none.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self { words: (0..max_bees.div_ceil(MARKS_PER_WORD)).map(|_| CachePadded::new(AtomicU64::new(0))).collect() }
    }

    pub(crate) fn mark_of(&self, bee: u32) -> DequeMark<'_> {
        DequeMark { word: &self.words[(bee / MARKS_PER_WORD) as usize], bit: 1 << (bee % MARKS_PER_WORD) }
    }

    /// Whether the deque of anybody up to `last_number`, but for `member`, may have tasks.
    #[inline]
    pub(crate) fn is_another_marked(&self, bee: u32, last: u32) -> bool {
        let words = &self.words[..=(last / MARKS_PER_WORD) as usize];
        let is_own = |number: u32| number == bee / MARKS_PER_WORD;
        let own_bit = |number: u32| if is_own(number) { 1 << (bee % MARKS_PER_WORD) } else { 0 };
        // Relaxed: a hint.
        words.iter().zip(0..).any(|(word, number)| word.load(Ordering::Relaxed) & !own_bit(number) != 0)
    }
}

impl DequeMark<'_> {
    /// The bee has pushed tasks, and is about to see whom to tell of them. Executes a SeqCst fence.
    #[inline(always)]
    pub(crate) fn announce_push(self) {
        // Pairs with the one in `is_bare`, and, as every poster's, with those in `go_to_sleep` and `count_parked`.
        fence(Ordering::SeqCst);
        if !self.is_set() {
            self.set();
        }
    }

    /// Whether its deque may have tasks.
    #[inline(always)]
    pub(crate) fn is_set(self) -> bool {
        // Relaxed: a hint, but in `announce_push`, where the fence orders it.
        self.word.load(Ordering::Relaxed) & self.bit != 0
    }

    // Apart: seldom, and not to be in the way of a push.
    #[cold]
    fn set(self) {
        // Relaxed: the fence of the caller orders it.
        self.word.fetch_or(self.bit, Ordering::Relaxed);
    }

    /// Somebody has found its deque bare, and takes the bit away. Says whether `load` still finds it so after that.
    #[cold]
    pub(crate) fn clear_if_empty(self, look: impl FnOnce() -> bool) -> bool {
        if !self.is_set() {
            // There is no bit to take away. Whoever pushes, or has taken it away, sets it if need be.
            return true;
        }
        // Relaxed: the fence orders it.
        self.word.fetch_and(!self.bit, Ordering::Relaxed);
        // Pairs with the one in `announce_push`: the owner finds its bit gone, or its task is found here.
        fence(Ordering::SeqCst);
        let is_empty = look();
        if !is_empty {
            self.set();
        }
        is_empty
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
            assert!(mark.clear_if_empty(|| true));
            assert!(!mark.is_set() && !marks.is_another_marked(1, 129));
        }
    }

    #[test]
    fn a_task_found_at_the_second_look_puts_the_bit_back() {
        let marks = DequeMarks::new(2);
        marks.mark_of(1).announce_push();
        assert!(!marks.mark_of(1).clear_if_empty(|| false));
        assert!(marks.mark_of(1).is_set());
    }
}
