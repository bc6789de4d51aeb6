//! A task of a model: it writes plain data, and says when it is done.

use std::cell::Cell;
use std::sync::Arc;

use crate::data::Datum;
use crate::hive::Hive;
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::Semaphore;

/// What whoever has posted a task waits for.
pub(crate) struct CheckedTask(Arc<CheckedTaskState>);

struct CheckedTaskState {
    /// What is to be done first. Taken once, by who runs it.
    body: Cell<Option<Box<dyn FnOnce()>>>,
    runs: Datum,
    done: Semaphore,
}

impl CheckedTask {
    /// An errand, and the task that runs it.
    pub(crate) fn new() -> (Self, Task) {
        Self::with_body(|| {})
    }

    /// An errand that does some work.
    #[expect(unsafe_code, reason = "erases the task's type")]
    pub(crate) fn with_body(work: impl FnOnce() + 'static) -> (Self, Task) {
        let shared = Arc::new(CheckedTaskState {
            body: Cell::new(Some(Box::new(work))),
            runs: Datum::new(0),
            done: Semaphore::new(),
        });
        // SAFETY: the count that is given away here keeps it alive until `run` takes it back; it may be run anywhere.
        let task = unsafe { Task::new::<CheckedTaskState>(Arc::into_raw(Arc::clone(&shared))) };
        (Self(shared), task)
    }

    /// An errand for bee `id` of the hive, which uses its hand.
    pub(crate) fn on_bee(hive: &Hive, id: u32, work: impl FnOnce(&TaskContext<'_>) + 'static) -> (Self, Task) {
        let task_context = hive.task_context_of(id);
        Self::with_body(move || task_context.with(work))
    }

    /// Waits until it is done, without lending a hand.
    pub(crate) fn wait(self) {
        self.0.done.wait();
        assert_eq!(self.0.runs.get(), 1, "times that the errand was run");
    }
}

#[expect(unsafe_code, reason = "takes a pointer")]
impl Run for CheckedTaskState {
    unsafe fn run(this: *const Self) {
        // SAFETY: the pointer is the one that `new` made, and is used once.
        let shared = unsafe { Arc::from_raw(this) };
        if let Some(work) = shared.body.take() {
            work();
        }
        shared.runs.set(shared.runs.get() + 1);
        shared.done.post();
    }
}
