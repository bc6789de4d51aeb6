//! A thread that does nothing else while a hive runs something for it.

#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};

use super::first_panic::FirstPanic;
use super::heap_job::HeapJob;
use crate::crew::Task;

/// Has `work` run as a task that `queue` queues, and returns when it is done.
pub(super) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    let desk = Desk::new(1);
    let job = || desk.run(|| result = Some(work()));
    // SAFETY: what the job borrows lives until it has run, because this thread waits for that below.
    queue(unsafe { HeapJob::task(job) });
    desk.wait();
    desk.close();
    result.unwrap_or_else(|| unreachable!("it has ended without a panic"))
}

/// Has `work` run once for each of some members, as a task that `queue` queues for it, and returns when all are done.
pub(super) fn run_each(members: RangeInclusive<u32>, queue: impl Fn(u32, Task), work: impl Fn(u32) + Sync) {
    let desk = Desk::new(members.clone().count());
    let (at, work) = (&desk, &work);
    for member in members {
        let job = move || at.run(|| work(member));
        // SAFETY: as above.
        queue(member, unsafe { HeapJob::task(job) });
    }
    desk.wait();
    desk.close();
}

/// Where the thread waits for its tasks.
struct Desk {
    /// Those that have not ended.
    open: Mutex<usize>,
    done: Condvar,
    panic: FirstPanic,
}

impl Desk {
    fn new(tasks: usize) -> Self {
        Self { open: Mutex::new(tasks), done: Condvar::new(), panic: FirstPanic::default() }
    }

    /// Runs a task, and says that it has ended.
    fn run(&self, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.panic.keep(panic);
        }
        // Under the lock to the end: the desk goes as soon as the other thread has it.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open -= 1;
        if *open == 0 {
            self.done.notify_one();
        }
    }

    /// Waits until all have ended.
    fn wait(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.done.wait_while(open, |open| *open > 0).unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends, all tasks having ended.
    ///
    /// # Panics
    /// With the first panic.
    fn close(self) {
        if let Some(panic) = self.panic.into_inner() {
            resume_unwind(panic);
        }
    }
}
