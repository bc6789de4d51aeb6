//! A queue of tasks that run in the order in which they were queued, although the deques of bees are stacks. For each
//! task that is put into the queue, one proxy goes into a deque; whoever runs a proxy runs the queue's oldest task.

#![allow(unsafe_code)]

use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::queues::TaskQueue;
use crate::protocol::tasks::task::{Run, Task};

/// The queue. Any thread may add tasks.
#[derive(Default)]
pub(crate) struct Fifo(TaskQueue);

impl Fifo {
    /// Adds a task, and returns the proxy to be queued in its place.
    ///
    /// # Safety
    /// The queue lives until as many proxies have begun to run as tasks were added.
    pub(crate) unsafe fn push(&self, task: Task) -> Task {
        self.0.push(task);
        // SAFETY: the caller promises that the queue lives until this proxy has found its task, and a queue may be used
        // by any thread.
        unsafe { Task::new::<Self>(self) }
    }
}

impl Run for Fifo {
    // That is the affair of the task that is found.
    const SEES_TO_CREDIT: bool = true;

    unsafe fn run(this: *const Self, held: Option<&HeldCredit>) {
        // SAFETY: the queue lives, because this proxy has not found its task yet. It may be gone once the task has run.
        let task = unsafe { &*this }.0.take();
        task.unwrap_or_else(|| unreachable!("a proxy without a task")).run(held);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Note(u32);

    thread_local! {
        static NOTES: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    }

    impl Run for Note {
        unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
            // SAFETY: the test keeps its notes.
            let number = unsafe { &*this }.0;
            NOTES.with_borrow_mut(|notes| notes.push(number));
        }
    }

    #[test]
    fn proxies_run_the_tasks_in_order_whatever_their_own_order() {
        let (fifo, notes) = (Fifo::default(), [1, 2, 3].map(Note));
        // SAFETY: the notes and the queue live to the end of the test, in which each proxy is run once.
        let task = |note: &Note| unsafe { Task::new::<Note>(note) };
        // SAFETY: as above.
        let proxies: Vec<_> = notes.iter().map(|note| unsafe { fifo.push(task(note)) }).collect();
        proxies.into_iter().rev().for_each(|proxy| proxy.run(None));
        assert_eq!(NOTES.take(), [1, 2, 3]);
    }
}
