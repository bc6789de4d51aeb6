//! A thread that does nothing else while a hive runs something for it.

#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::panics::rethrow;
use crate::protocol::tasks::task::Task;
use crate::sync::{Condvar, Mutex};
use crate::tasks::first_panic::FirstPanic;
use crate::tasks::heap_job::HeapJob;

/// Has `work` run as a task that `queue_task` queues, and returns when it is done.
pub(crate) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    let completion = Completion::new(1);
    let abort_guard = abort_guard();
    // SAFETY: what the job borrows lives until it has run, because this thread waits for that below.
    queue(unsafe { completion.task(|| result = Some(work())) });
    completion.wait();
    abort_guard.disarm();
    completion.rethrow_first();
    result.unwrap_or_else(|| unreachable!("it has ended without a panic"))
}

/// Has `work` run once for each of some bees, as a task that `queue_task` queues for it, and returns when all are done.
pub(crate) fn run_each(bees: RangeInclusive<u32>, queue: impl Fn(u32, Task), work: impl Fn(u32) + Sync) {
    let completion = Completion::new(bees.clone().count());
    let work = &work;
    let abort_guard = abort_guard();
    for bee in bees {
        // SAFETY: as above.
        queue(bee, unsafe { completion.task(move || work(bee)) });
    }
    completion.wait();
    abort_guard.disarm();
    completion.rethrow_first();
}

/// While tasks borrow from the thread that waits for them.
fn abort_guard() -> AbortOnUnwind {
    AbortOnUnwind::new("in a thread that waits for its tasks")
}

/// Where the thread waits for its tasks. Shared with them, so that none is the one who may touch it last.
#[derive(Clone)]
struct Completion(Arc<CompletionState>);

struct CompletionState {
    /// Those that have not ended.
    remaining: Mutex<usize>,
    done: Condvar,
    panic: FirstPanic,
}

impl Completion {
    fn new(tasks: usize) -> Self {
        Self(Arc::new(CompletionState {
            remaining: Mutex::new(tasks),
            done: Condvar::new(),
            panic: FirstPanic::default(),
        }))
    }

    /// One of the tasks.
    ///
    /// # Safety
    /// What `work` borrows lives until `wait` has returned.
    unsafe fn task(&self, work: impl FnOnce() + Send) -> Task {
        let [run, end] = [self.clone(), self.clone()];
        // SAFETY: the caller's promise; nothing of `work` is left when the task is counted off.
        unsafe { HeapJob::task(move || run.run(work), move || end.end_one()) }
    }

    /// Runs a task's work.
    fn run(self, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.0.panic.record(panic);
        }
    }

    /// Counts a task off.
    fn end_one(self) {
        let mut remaining = self.0.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        *remaining -= 1;
        if *remaining == 0 {
            self.0.done.notify_one();
        }
    }

    /// Waits until all have ended.
    fn wait(&self) {
        let remaining = self.0.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.done.wait_while(remaining, |remaining| *remaining > 0).unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends, all tasks having ended.
    ///
    /// # Panics
    /// With the first panic.
    fn rethrow_first(self) {
        if let Some(panic) = self.0.panic.take() {
            rethrow(panic);
        }
    }
}
