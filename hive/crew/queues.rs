//! Where tasks wait: one queue for those from outside, and for each member a deque of its own, which the others steal from, and a mailbox, which they do not.

use crossbeam_utils::CachePadded;

use super::task::Task;
use crate::sync::{Injector, Mutex, Steal, Stealer, Worker};

/// The queue for tasks from outside. First in, first out.
pub(super) struct Inbox(CachePadded<Injector<Task>>);

/// A member's queues, as the others see them.
pub(super) struct Desk {
    /// Tasks that only this member may run.
    mailbox: Injector<Task>,
    deque: Stealer<Task>,
    /// The member's end of its deque, while it is not there.
    own: Mutex<Option<Worker<Task>>>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self(CachePadded::new(Injector::new()))
    }

    pub(super) fn push(&self, task: Task) {
        self.0.push(task);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are, as far as can be seen.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn take(&self) -> Option<Task> {
        take(|| self.0.steal())
    }

    /// Takes the oldest, and puts some of the others into `own`.
    pub(super) fn take_some(&self, own: &Worker<Task>) -> Option<Task> {
        take(|| self.0.steal_batch_and_pop(own))
    }
}

impl Desk {
    pub(super) fn new() -> Self {
        let own = Worker::new_lifo();
        Self { mailbox: Injector::new(), deque: own.stealer(), own: Mutex::new(Some(own)) }
    }

    /// The member's own end of its deque, for as long as it is there. One at a time has it.
    pub(super) fn sit_down(&self) -> Worker<Task> {
        self.own.lock().expect("no code that can panic runs under this lock").take().expect("a member is on one thread at a time")
    }

    pub(super) fn get_up(&self, own: Worker<Task>) {
        *self.own.lock().expect("no code that can panic runs under this lock") = Some(own);
    }

    pub(super) fn post(&self, task: Task) {
        self.mailbox.push(task);
    }

    pub(super) fn has_mail(&self) -> bool {
        !self.mailbox.is_empty()
    }

    pub(super) fn take_mail(&self) -> Option<Task> {
        take(|| self.mailbox.steal())
    }

    pub(super) fn steal(&self) -> Option<Task> {
        take(|| self.deque.steal())
    }

    /// Takes the oldest, and puts some of the others into `own`.
    pub(super) fn steal_some(&self, own: &Worker<Task>) -> Option<Task> {
        take(|| self.deque.steal_batch_and_pop(own))
    }

    pub(super) fn is_bare(&self) -> bool {
        self.deque.is_empty()
    }

    /// How many tasks are in the deque, as far as can be seen.
    pub(super) fn len(&self) -> usize {
        self.deque.len()
    }
}

/// Tries until it is clear whether there is something.
fn take(steal: impl Fn() -> Steal<Task>) -> Option<Task> {
    loop {
        match steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
