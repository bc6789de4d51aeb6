//! A task with its type erased: two words, so that a queue of them needs no allocation.

#![allow(unsafe_code)]

use std::ptr;

use crate::protocol::abort_on_unwind::AbortOnUnwind;

/// What can be run as a task, once.
pub(crate) trait Run {
    /// Runs it, keeps any panic to itself, and says so to whoever waits. It may be gone when this returns.
    ///
    /// # Safety
    /// Called once, with a pointer that `Task::new` got.
    unsafe fn run(this: *const Self);
}

/// Two words: the task's address, and the function that knows its type.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    this: *const (),
    run: unsafe fn(*const ()),
}

// SAFETY: `new` asks for what may be run on another thread.
unsafe impl Send for Task {}

impl Task {
    /// Erases what `this` points to.
    ///
    /// # Safety
    /// It lives until it has been run, may be run on any thread, and is run once.
    pub(crate) unsafe fn new<T: Run>(this: *const T) -> Self {
        /// # Safety
        /// As for `Run::run`.
        unsafe fn run<T: Run>(this: *const ()) {
            // SAFETY: the caller's promise.
            unsafe { T::run(this.cast()) }
        }
        Self { this: this.cast(), run: run::<T> }
    }

    /// Whether this is that task. Both are still to be run.
    pub(crate) fn is_same(&self, that: &Self) -> bool {
        ptr::eq(self.this, that.this)
    }

    /// Runs the task. Takes it, because a task is run once.
    pub(crate) fn run(self) {
        let intact = AbortOnUnwind::new("in a task");
        // SAFETY: promised to `new`; queues hand out each task once.
        unsafe { (self.run)(self.this) }
        intact.disarm();
    }
}
