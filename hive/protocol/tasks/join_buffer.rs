//! The join buffer of a bee: the second halves of its joins that no other bee has asked for yet. They are kept out of
//! the deque because each push to it costs atomic operations, which only those that are stolen need. `tasks/join.rs`
//! says when they are shared.

use std::cell::Cell;

use crate::protocol::tasks::task::Task;

/// The buffered second halves of one bee's joins, oldest first. Only that bee's thread touches it.
#[derive(Default)]
pub(crate) struct JoinBuffer {
    /// The tasks. Task number `n` is in the entry `n % ENTRIES`.
    tasks: [Cell<Option<Task>>; ENTRIES],
    /// The number of the next task. The tasks that are here have the numbers from `start` up to, and without, `end`.
    /// Numbers do not wrap around: 2^64 joins take centuries.
    end: Cell<u64>,
    /// The number of the oldest task here, unless the buffer is empty. It grows as tasks are taken from the front.
    start: Cell<u64>,
}

/// How many tasks the buffer holds. A join that finds it full, and nobody who wants a task, is linked instead
/// (`linked_joins.rs`), which costs less. In a recursion the buffered tasks are the oldest and so the largest: these
/// are seven eighths of the work that the bee has. With one more, each bee would have a smaller task to give away, and
/// a recursion of ten levels would buffer 385 of its 1,023 joins instead of 175.
const CAPACITY: usize = 3;

/// The smallest power of two that has room for them: with it, the remainder of a number is one instruction.
const ENTRIES: usize = CAPACITY.next_power_of_two();

impl JoinBuffer {
    /// Whether there is no task here.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.start.get() == self.end.get()
    }

    /// Whether there is no room for another task.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.end.get() - self.start.get() == CAPACITY as u64
    }

    /// Adds a task, which becomes the newest, and returns its number. The buffer is not full.
    #[inline(always)]
    pub(crate) fn push(&self, task: Task) -> u64 {
        let number = self.end.get();
        self.tasks[entry_of(number)].set(Some(task));
        self.end.set(number + 1);
        number
    }

    /// Takes back the newest task, whose number is `number`, unless it has been taken from the front. Returns whether
    /// it was still here.
    #[inline(always)]
    pub(crate) fn reclaim(&self, number: u64) -> bool {
        // Tasks are taken from the front only: one that is not older than the oldest here is still here.
        let is_there = number >= self.start.get();
        if is_there {
            debug_assert_eq!(number + 1, self.end.get(), "joins end in the reverse order of their beginning");
            self.end.set(number);
        } else {
            // Tasks are taken from the front in order, so all that are older than this one have been taken as well: the
            // buffer is empty.
            self.end.set(self.start.get());
        }
        is_there
    }

    /// Takes the oldest task, to share it.
    pub(crate) fn pop_oldest(&self) -> Option<Task> {
        if self.is_empty() {
            return None;
        }
        let number = self.start.get();
        self.start.set(number + 1);
        self.tasks[entry_of(number)].take()
    }
}

/// Where task number `number` is kept.
#[inline(always)]
fn entry_of(number: u64) -> usize {
    (number % ENTRIES as u64) as usize
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
        // SAFETY: `NOTHING` lives for ever, and to run it does nothing.
        unsafe { Task::new(&raw const NOTHING) }
    }

    static NOTHING: Nothing = Nothing;

    #[test]
    fn joins_are_reclaimed_in_reverse_unless_they_were_popped_from_the_front() {
        let buffer = JoinBuffer::default();
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
