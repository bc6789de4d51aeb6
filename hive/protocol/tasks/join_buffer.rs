//! The second halves of joins that nobody has asked for yet. They are not in the deque, where each would cost what only stolen ones need.

use std::cell::Cell;

use crate::protocol::tasks::task::Task;

/// A bee's, oldest first. Only its own thread touches it.
pub(crate) struct JoinBuffer {
    tasks: [Cell<Option<Task>>; CAPACITY],
    /// How many there have been, and how many of these have been taken from the front.
    end: Cell<usize>,
    start: Cell<usize>,
}

/// Joins beyond these run their halves in order: what is kept is enough to share, and it is the larger.
const CAPACITY: usize = 4;

impl JoinBuffer {
    pub(crate) fn new() -> Self {
        Self { tasks: Default::default(), end: Cell::new(0), start: Cell::new(0) }
    }

    fn is_empty(&self) -> bool {
        self.start.get() == self.end.get()
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.end.get() - self.start.get() == CAPACITY
    }

    /// Keeps a task. Returns its number.
    #[inline(always)]
    pub(crate) fn push(&self, task: Task) -> usize {
        let number = self.end.get();
        self.tasks[number % CAPACITY].set(Some(task));
        self.end.set(number + 1);
        number
    }

    /// Takes back the task that was kept last, whose number is given, unless it has been taken from the front. Says whether it was there.
    #[inline(always)]
    pub(crate) fn reclaim(&self, number: usize) -> bool {
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
    pub(crate) fn pop_oldest(&self) -> Option<Task> {
        if self.is_empty() {
            return None;
        }
        let number = self.start.get();
        self.start.set(number + 1);
        self.tasks[number % CAPACITY].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::tasks::task::Run;

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
    fn joins_are_reclaimed_in_reverse_unless_they_were_popped_from_the_front() {
        let buffer = JoinBuffer::new();
        let numbers = [(); CAPACITY].map(|()| buffer.push(task()));
        assert!(buffer.is_full());
        assert!(buffer.pop_oldest().is_some());
        assert!(!buffer.is_full());
        let another = buffer.push(task());
        assert!(buffer.reclaim(another));
        assert!(numbers[1..].iter().rev().all(|&number| buffer.reclaim(number)));
        assert!(!buffer.reclaim(numbers[0]));
        assert!(buffer.is_empty() && buffer.pop_oldest().is_none());
    }
}
