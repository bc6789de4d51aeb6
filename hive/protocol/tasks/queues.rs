//! The queues that tasks wait in: the injector, one for the whole team, for tasks from outside; and for each bee a
//! deque of its own, from which the others steal, and a mailbox, from which they do not. The queues themselves are
//! those of crossbeam-deque. `search.rs` says in which order a bee looks into them.

use crate::protocol::tasks::task::Task;
use crate::sync::{Injector, Mutex, Steal, Stealer, Worker};

/// A queue of tasks, first in, first out. Any thread may add tasks to it and take tasks from it.
#[derive(Default)]
pub(crate) struct TaskQueue(Injector<Task>);

/// The queues of one bee: its mailbox, and its deque, as far as that is in the slot.
pub(crate) struct LocalQueues {
    /// Tasks for this bee alone, which any thread may add. When the bee leaves or the hive ends, any bee may have what
    /// is left. Bee 0 of a hive gets none from others: what she has there, she has spawned while she was the only bee,
    /// and all may have it as soon as there are others.
    pub(crate) mailbox: TaskQueue,
    /// The end of the deque that the others steal from.
    pub(crate) stealer: Stealer<Task>,
    /// The bee's own end of its deque, while no `TaskContext` has it.
    owner_end: Mutex<Option<Worker<Task>>>,
}

impl TaskQueue {
    /// Adds a task at the end.
    pub(crate) fn push(&self, task: Task) {
        self.0.push(task);
    }

    /// Whether there is no task, as far as this thread can see.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many tasks there are, as far as this thread can see.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the oldest task.
    pub(crate) fn take(&self) -> Option<Task> {
        steal_until_clear(|| self.0.steal())
    }

    /// Takes the oldest task, and moves some of the others into `deque`, which is the caller's own.
    pub(crate) fn take_batch(&self, deque: &Worker<Task>) -> Option<Task> {
        steal_until_clear(|| self.0.steal_batch_and_pop(deque))
    }
}

impl LocalQueues {
    /// An empty mailbox and an empty deque. The bee takes the newest task of its deque first, or, if
    /// `is_breadth_first`, the oldest, as thieves do.
    pub(crate) fn new(is_breadth_first: bool) -> Self {
        let deque = if is_breadth_first { Worker::new_fifo() } else { Worker::new_lifo() };
        Self { mailbox: TaskQueue::default(), stealer: deque.stealer(), owner_end: Mutex::new(Some(deque)) }
    }

    /// Takes the bee's own end of its deque, for a `TaskContext`. One context at a time has it.
    ///
    /// # Panics
    /// If another context of the same bee has it.
    pub(crate) fn acquire_deque(&self) -> Worker<Task> {
        self.owner_end.lock().take().expect("a bee is on one thread at a time")
    }

    /// Puts the bee's own end of its deque back when its `TaskContext` ends.
    pub(crate) fn release_deque(&self, deque: Worker<Task>) {
        *self.owner_end.lock() = Some(deque);
    }

    /// Steals the oldest task of the deque.
    pub(crate) fn steal(&self) -> Option<Task> {
        steal_until_clear(|| self.stealer.steal())
    }

    /// Steals the oldest task of the deque, and moves some of the others into `deque`, which is the caller's own.
    pub(crate) fn steal_batch(&self, deque: &Worker<Task>) -> Option<Task> {
        steal_until_clear(|| self.stealer.steal_batch_and_pop(deque))
    }
}

/// Repeats `steal` until it is clear whether there was a task: a steal that collides with another one says neither.
fn steal_until_clear(steal: impl Fn() -> Steal<Task>) -> Option<Task> {
    loop {
        match steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
