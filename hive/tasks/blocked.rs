//! A thread that does nothing else while a hive runs something for it.

#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::first_panic::FirstPanic;
use super::heap_job::HeapJob;
use crate::crew::{AbortOnUnwind, Task, rethrow};
use crate::sync::{Condvar, Mutex};

/// Has `work` run as a task that `queue` queues, and returns when it is done.
pub(super) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    let desk = Desk::new(1);
    let intact = intact();
    // SAFETY: what the job borrows lives until it has run, because this thread waits for that below.
    queue(unsafe { desk.task(|| result = Some(work())) });
    desk.wait();
    intact.disarm();
    desk.close();
    result.unwrap_or_else(|| unreachable!("it has ended without a panic"))
}

/// Has `work` run once for each of some members, as a task that `queue` queues for it, and returns when all are done.
pub(super) fn run_each(members: RangeInclusive<u32>, queue: impl Fn(u32, Task), work: impl Fn(u32) + Sync) {
    let desk = Desk::new(members.clone().count());
    let work = &work;
    let intact = intact();
    for member in members {
        // SAFETY: as above.
        queue(member, unsafe { desk.task(move || work(member)) });
    }
    desk.wait();
    intact.disarm();
    desk.close();
}

/// While tasks borrow from the thread that waits for them.
fn intact() -> AbortOnUnwind {
    AbortOnUnwind::new("in a thread that waits for its tasks")
}

/// Where the thread waits for its tasks. Shared with them, so that none is the one who may touch it last.
#[derive(Clone)]
struct Desk(Arc<Shared>);

struct Shared {
    /// Those that have not ended.
    open: Mutex<usize>,
    done: Condvar,
    panic: FirstPanic,
}

impl Desk {
    fn new(tasks: usize) -> Self {
        Self(Arc::new(Shared { open: Mutex::new(tasks), done: Condvar::new(), panic: FirstPanic::default() }))
    }

    /// One of the tasks.
    ///
    /// # Safety
    /// What `work` borrows lives until `wait` has returned.
    unsafe fn task(&self, work: impl FnOnce() + Send) -> Task {
        let [run, end] = [self.clone(), self.clone()];
        // SAFETY: the caller's promise; nothing of `work` is left when the task is counted off.
        unsafe { HeapJob::task(move || run.run(work), move || end.end()) }
    }

    /// Runs a task's work.
    fn run(self, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.0.panic.keep(panic);
        }
    }

    /// Counts a task off.
    fn end(self) {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open -= 1;
        if *open == 0 {
            self.0.done.notify_one();
        }
    }

    /// Waits until all have ended.
    fn wait(&self) {
        let open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.done.wait_while(open, |open| *open > 0).unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends, all tasks having ended.
    ///
    /// # Panics
    /// With the first panic.
    fn close(self) {
        if let Some(panic) = self.0.panic.take() {
            rethrow(panic);
        }
    }
}
