//! The queues that tasks wait in: the injector, one for the whole team, for tasks from outside; and for each bee a
//! deque of its own, from which the others steal, and a mailbox, from which they do not. The queues themselves are
//! those of crossbeam-deque. `search.rs` says in which order a bee looks into them.

use crossbeam_utils::CachePadded;

use crate::protocol::tasks::task::Task;
use crate::sync::{Injector, Mutex, Steal, Stealer, Worker};

/// The team's queue for tasks from threads that are no bees of it. First in, first out.
pub(crate) struct TaskInjector(CachePadded<Injector<Task>>);

/// The queues of one bee, as others see them.
pub(crate) struct LocalQueues {
    /// Tasks that only this bee may run. Every thread may add some. Bee 0 of a hive gets none from others; what she has
    /// there, she has spawned while she was the only bee, and all may have it as soon as there are others.
    mailbox: Injector<Task>,
    /// The end of the deque that the others steal from.
    stealer: Stealer<Task>,
    /// The bee's own end of its deque, while no `TaskContext` has it.
    owner_end: Mutex<Option<Worker<Task>>>,
}

impl TaskInjector {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(Injector::new()))
    }

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
    /// An empty mailbox and an empty deque, from which its owner takes the newest task first.
    pub(crate) fn new() -> Self {
        Self::around(Worker::new_lifo())
    }

    /// The same, but the owner takes the oldest task of its deque first, as thieves do.
    pub(crate) fn breadth_first() -> Self {
        Self::around(Worker::new_fifo())
    }

    fn around(deque: Worker<Task>) -> Self {
        Self { mailbox: Injector::new(), stealer: deque.stealer(), owner_end: Mutex::new(Some(deque)) }
    }

    /// Takes the bee's own end of its deque, for a `TaskContext`. One context at a time has it.
    ///
    /// # Panics
    /// If another context of the same bee has it.
    pub(crate) fn acquire_deque(&self) -> Worker<Task> {
        self.owner_end
            .lock()
            .expect("no code that can panic runs under this lock")
            .take()
            .expect("a bee is on one thread at a time")
    }

    /// Puts the bee's own end of its deque back when its `TaskContext` ends.
    pub(crate) fn release_deque(&self, deque: Worker<Task>) {
        *self.owner_end.lock().expect("no code that can panic runs under this lock") = Some(deque);
    }

    /// Adds a task that only this bee may run.
    pub(crate) fn push_to_mailbox(&self, task: Task) {
        self.mailbox.push(task);
    }

    /// Whether the mailbox has a task, as far as this thread can see.
    pub(crate) fn has_mailbox_task(&self) -> bool {
        !self.mailbox.is_empty()
    }

    /// Takes the oldest task of the mailbox. Called by the bee itself, and where the tasks are for others after all: by
    /// a bee that goes, and as the hive grows or ends.
    pub(crate) fn take_from_mailbox(&self) -> Option<Task> {
        steal_until_clear(|| self.mailbox.steal())
    }

    /// Takes the oldest task of the mailbox, and moves some of the others into `deque`, which is the same bee's.
    pub(crate) fn take_batch_from_mailbox(&self, deque: &Worker<Task>) -> Option<Task> {
        steal_until_clear(|| self.mailbox.steal_batch_and_pop(deque))
    }

    /// Steals the oldest task of the deque.
    pub(crate) fn steal(&self) -> Option<Task> {
        steal_until_clear(|| self.stealer.steal())
    }

    /// Steals the oldest task of the deque, and moves some of the others into `deque`, which is the caller's own.
    pub(crate) fn steal_batch(&self, deque: &Worker<Task>) -> Option<Task> {
        steal_until_clear(|| self.stealer.steal_batch_and_pop(deque))
    }

    /// Whether the deque has no task, as far as this thread can see.
    pub(crate) fn is_deque_empty(&self) -> bool {
        self.stealer.is_empty()
    }

    /// How many tasks the deque has, as far as this thread can see.
    pub(crate) fn deque_len(&self) -> usize {
        self.stealer.len()
    }
}

/// Takes the oldest task of `queue`.
pub(crate) fn take_oldest(queue: &Injector<Task>) -> Option<Task> {
    steal_until_clear(|| queue.steal())
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
