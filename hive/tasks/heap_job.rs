//! A task that nobody waits for where it was made: it owns itself.

#![allow(unsafe_code)]

use crate::protocol::tasks::task::{Run, Task};

/// What a closure captures is moved through a dozen frames on its way into a job and out of it, each of which may keep a copy. One that is larger than this is boxed at the beginning of its
/// way, and called where it lies.
const BOX_THRESHOLD: usize = 1 << 10;

/// Whether to box this closure first.
#[inline(always)]
pub(crate) const fn is_large<F>(_: &F) -> bool {
    size_of::<F>() > BOX_THRESHOLD
}

pub(crate) struct HeapJob<F, E> {
    work: F,
    end: E,
}

impl<F: FnOnce() + Send, E: FnOnce() + Send> HeapJob<F, E> {
    /// A task that runs `work`, which keeps its panics to itself, and then `end`, by which somebody may hear that it is done. When `end` runs nothing is left of `work`: what it
    /// has borrowed may go at once.
    ///
    /// # Safety
    /// What `work` borrows lives until it has run, and what `end` borrows as long as that needs it.
    pub(crate) unsafe fn task(work: F, end: E) -> Task {
        let job = Box::into_raw(Box::new(Self { work, end }));
        // SAFETY: the box lives until `run` takes it back; the rest is the caller's promise.
        unsafe { Task::new::<Self>(job) }
    }
}

impl<F: FnOnce() + Send, E: FnOnce() + Send> Run for HeapJob<F, E> {
    unsafe fn run(this: *const Self) {
        // SAFETY: the pointer came from a box, and a task is run once.
        let Self { work, end } = *unsafe { Box::from_raw(this.cast_mut()) };
        work();
        end();
    }
}
