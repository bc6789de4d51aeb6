//! Where tasks wait: one queue for those from outside, and for each bee a deque of its own, which the others steal from, and a mailbox, which they do not.

use crossbeam_utils::CachePadded;

use crate::protocol::tasks::task::Task;
use crate::sync::{Injector, Mutex, Steal, Stealer, Worker};

/// The queue for tasks from outside. First in, first out.
pub(crate) struct TaskInjector(CachePadded<Injector<Task>>);

/// A bee's queues, as the others see them.
pub(crate) struct LocalQueues {
    /// Tasks that only this bee may run.
    mailbox: Injector<Task>,
    stealer: Stealer<Task>,
    /// The bee's end of its deque, while it is not there.
    owner_end: Mutex<Option<Worker<Task>>>,
}

impl TaskInjector {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(Injector::new()))
    }

    pub(crate) fn push(&self, task: Task) {
        self.0.push(task);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are, as far as can be seen.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn take(&self) -> Option<Task> {
        steal_until_clear(|| self.0.steal())
    }

    /// Takes the oldest, and puts some of the others into `own`.
    pub(crate) fn take_batch(&self, deque: &Worker<Task>) -> Option<Task> {
        steal_until_clear(|| self.0.steal_batch_and_pop(deque))
    }
}

impl LocalQueues {
    pub(crate) fn new() -> Self {
        let deque = Worker::new_lifo();
        Self { mailbox: Injector::new(), stealer: deque.stealer(), owner_end: Mutex::new(Some(deque)) }
    }

    /// The bee's own end of its deque, for as long as it is there. One at a time has it.
    pub(crate) fn acquire_deque(&self) -> Worker<Task> {
        self.owner_end
            .lock()
            .expect("no code that can panic runs under this lock")
            .take()
            .expect("a bee is on one thread at a time")
    }

    pub(crate) fn release_deque(&self, deque: Worker<Task>) {
        *self.owner_end.lock().expect("no code that can panic runs under this lock") = Some(deque);
    }

    pub(crate) fn push_to_mailbox(&self, task: Task) {
        self.mailbox.push(task);
    }

    pub(crate) fn has_mailbox_task(&self) -> bool {
        !self.mailbox.is_empty()
    }

    pub(crate) fn take_from_mailbox(&self) -> Option<Task> {
        steal_until_clear(|| self.mailbox.steal())
    }

    pub(crate) fn steal(&self) -> Option<Task> {
        steal_until_clear(|| self.stealer.steal())
    }

    /// Takes the oldest, and puts some of the others into `own`.
    pub(crate) fn steal_batch(&self, deque: &Worker<Task>) -> Option<Task> {
        steal_until_clear(|| self.stealer.steal_batch_and_pop(deque))
    }

    pub(crate) fn is_deque_empty(&self) -> bool {
        self.stealer.is_empty()
    }

    /// How many tasks are in the deque, as far as can be seen.
    pub(crate) fn deque_len(&self) -> usize {
        self.stealer.len()
    }
}

/// Tries until it is clear whether there is something.
fn steal_until_clear(steal: impl Fn() -> Steal<Task>) -> Option<Task> {
    loop {
        match steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
