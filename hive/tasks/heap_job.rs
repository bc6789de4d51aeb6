//! A task that nobody waits for where it was made: it owns itself.

#![allow(unsafe_code)]

use crate::crew::{Run, Task};

pub(crate) struct HeapJob<F>(F);

impl<F: FnOnce() + Send> HeapJob<F> {
    /// `work` keeps its panics to itself.
    ///
    /// # Safety
    /// What `work` borrows lives until it has run.
    pub(crate) unsafe fn task(work: F) -> Task {
        let job = Box::into_raw(Box::new(Self(work)));
        // SAFETY: the box lives until `run` takes it back; the rest is the caller's promise.
        unsafe { Task::new::<Self>(job) }
    }
}

impl<F: FnOnce() + Send> Run for HeapJob<F> {
    unsafe fn run(this: *const Self) {
        // SAFETY: the pointer came from a box, and a task is run once.
        let job = unsafe { Box::from_raw(this.cast_mut()) };
        (job.0)();
    }
}
