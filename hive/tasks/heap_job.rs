//! A task on the heap, for work that does not end inside the call that made it: the tasks of `spawn` and of scopes, and
//! those of threads that wait (`blocking.rs`). The task owns its closure and frees itself when it has run.

#![allow(unsafe_code)]

use crate::protocol::tasks::task::{Run, Task};
use crate::tasks::job_memory::{put_on_heap, take_out};

/// The closures of a task on the heap.
///
/// `KEPT`: whether its memory is one that threads keep (`job_memory.rs`).
pub(crate) struct HeapJob<F, E, const KEPT: bool = false> {
    /// What the task does.
    work: F,
    /// What runs with the result of `work` after `work` has gone: it tells whoever waits for the task that it has
    /// ended.
    end: E,
}

impl<T, F: FnOnce() -> T + Send, E: FnOnce(T) + Send, const KEPT: bool> HeapJob<F, E, KEPT> {
    /// A task that runs `work`, which must not panic, and then `end`, which may tell another thread that the task has
    /// ended. When `end` runs, nothing of `work` is left, so what `work` has borrowed may go away at once. It could not
    /// while `work` ran: references that are handed to a function are promised to be valid until it returns.
    ///
    /// # Safety
    /// What `work` borrows lives until `work` has run, and what `end` borrows lives as long as `end` needs it.
    pub(crate) unsafe fn task(work: F, end: E) -> Task {
        let job = Self { work, end };
        let job = if KEPT { put_on_heap(job) } else { Box::into_raw(Box::new(job)) };
        // SAFETY: the job is there until `run` takes it out, and `F` and `E` are `Send`. That what they borrow lives
        // long enough is the caller's promise.
        unsafe { Task::new::<Self>(job) }
    }
}

impl<T, F: FnOnce() -> T + Send, E: FnOnce(T) + Send, const KEPT: bool> Run for HeapJob<F, E, KEPT> {
    unsafe fn run(this: *const Self) {
        let this = this.cast_mut();
        let Self { work, end } = if KEPT {
            // SAFETY: `task` has put it there, and a task is run once, so this is the only owner.
            unsafe { take_out(this) }
        } else {
            // SAFETY: `task` made the pointer from a box, and this is the only owner, as above.
            *unsafe { Box::from_raw(this) }
        };
        end(work());
    }
}
