//! A task of a model: it writes plain data, and says when it is done.

use std::sync::Arc;

use crate::crew::{Run, Task};
use crate::data::Datum;
use crate::sync::Semaphore;

/// What whoever has posted a task waits for.
pub(crate) struct Errand(Arc<Shared>);

struct Shared {
    runs: Datum,
    done: Semaphore,
}

impl Errand {
    /// An errand, and the task that runs it.
    #[expect(unsafe_code, reason = "erases the task's type")]
    pub(crate) fn new() -> (Self, Task) {
        let shared = Arc::new(Shared { runs: Datum::new(0), done: Semaphore::new() });
        // SAFETY: the count that is given away here keeps it alive until `run` takes it back; it may be run anywhere.
        let task = unsafe { Task::new::<Shared>(Arc::into_raw(Arc::clone(&shared))) };
        (Self(shared), task)
    }

    /// Waits until it is done, without lending a hand.
    pub(crate) fn wait(self) {
        self.0.done.wait();
        assert_eq!(self.0.runs.get(), 1, "times that the errand was run");
    }
}

#[expect(unsafe_code, reason = "takes a pointer")]
impl Run for Shared {
    unsafe fn run(this: *const Self) {
        // SAFETY: the pointer is the one that `new` made, and is used once.
        let shared = unsafe { Arc::from_raw(this) };
        shared.runs.set(shared.runs.get() + 1);
        shared.done.post();
    }
}
