//! The second halves of joins that nobody has asked for yet. They are not in the deque, where each would cost what only stolen ones need.

use std::cell::Cell;

use super::task::Task;

/// A member's, oldest first. Only its own thread touches it.
pub(super) struct Kept {
    tasks: [Cell<Option<Task>>; MOST],
    /// How many there have been, and how many of these have been taken from the front.
    end: Cell<usize>,
    start: Cell<usize>,
}

/// Joins beyond these run their halves in order: what is kept is enough to share, and it is the larger.
const MOST: usize = 4;

impl Kept {
    pub(super) fn new() -> Self {
        Self { tasks: Default::default(), end: Cell::new(0), start: Cell::new(0) }
    }

    fn is_empty(&self) -> bool {
        self.start.get() == self.end.get()
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.end.get() - self.start.get() == MOST
    }

    /// Keeps a task. Returns its number.
    #[inline(always)]
    pub(super) fn put(&self, task: Task) -> usize {
        let number = self.end.get();
        self.tasks[number % MOST].set(Some(task));
        self.end.set(number + 1);
        number
    }

    /// Takes back the task that was kept last, whose number is given, unless it has been taken from the front. Says whether it was there.
    #[inline(always)]
    pub(super) fn take_back(&self, number: usize) -> bool {
        let is_there = number >= self.start.get();
        if is_there {
            debug_assert_eq!(number + 1, self.end.get(), "joins end in the reverse order of their beginning");
            self.end.set(number);
        } else {
            // All before it have been, too.
            self.end.set(self.start.get());
        }
        is_there
    }

    /// Takes the oldest.
    pub(super) fn take_oldest(&self) -> Option<Task> {
        if self.is_empty() {
            return None;
        }
        let number = self.start.get();
        self.start.set(number + 1);
        self.tasks[number % MOST].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Run;

    struct Nothing;

    #[expect(unsafe_code, reason = "takes a pointer")]
    impl Run for Nothing {
        unsafe fn run(_: *const Self) {}
    }

    #[expect(unsafe_code, reason = "erases the task's type")]
    fn task() -> Task {
        // SAFETY: there is nothing to it.
        unsafe { Task::new(&raw const NOTHING) }
    }

    static NOTHING: Nothing = Nothing;

    #[test]
    fn what_is_kept_is_taken_back_in_reverse_unless_it_was_taken_from_the_front() {
        let kept = Kept::new();
        let numbers = [(); MOST].map(|()| kept.put(task()));
        assert!(kept.is_full());
        assert!(kept.take_oldest().is_some());
        assert!(!kept.is_full());
        let another = kept.put(task());
        assert!(kept.take_back(another));
        assert!(numbers[1..].iter().rev().all(|&number| kept.take_back(number)));
        assert!(!kept.take_back(numbers[0]));
        assert!(kept.is_empty() && kept.take_oldest().is_none());
    }
}
