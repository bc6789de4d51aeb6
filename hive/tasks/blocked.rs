//! A thread that does nothing else while a hive runs something for it.

#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};

use super::heap_job::HeapJob;
use crate::crew::{Payload, Task, drop_quietly};

/// Has `work` run as a task that `queue` queues, and returns when it is done.
pub(super) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    let desk = Desk::new(1);
    let job = || desk.run(|| result = Some(work()));
    // SAFETY: what the job borrows lives until it has run, because this thread waits for that below.
    queue(unsafe { HeapJob::task(job) });
    desk.wait();
    result.unwrap_or_else(|| unreachable!("it has ended without a panic"))
}

/// Has `work` run once for each of some members, as a task that `queue` queues for it, and returns when all are done.
pub(super) fn run_each(members: RangeInclusive<u32>, queue: impl Fn(u32, Task), work: impl Fn(u32) + Sync) {
    let desk = Desk::new(members.clone().count());
    let (desk, work) = (&desk, &work);
    for member in members {
        let job = move || desk.run(|| work(member));
        // SAFETY: as above.
        queue(member, unsafe { HeapJob::task(job) });
    }
    desk.wait();
}

/// Where the thread waits for its tasks.
struct Desk {
    /// Those that have not ended, and the first panic.
    open: Mutex<(usize, Option<Payload>)>,
    done: Condvar,
}

impl Desk {
    fn new(tasks: usize) -> Self {
        Self { open: Mutex::new((tasks, None)), done: Condvar::new() }
    }

    /// Runs a task, and says that it has ended.
    fn run(&self, work: impl FnOnce()) {
        let mut panic = catch_unwind(AssertUnwindSafe(work)).err();
        // Under the lock to the end: the desk goes as soon as the other thread has it.
        let mut place = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (open, first) = &mut *place;
        if first.is_none() {
            *first = panic.take();
        }
        *open -= 1;
        if *open == 0 {
            self.done.notify_one();
        }
        drop(place);
        // What nobody will see is nothing of the desk's.
        panic.into_iter().for_each(drop_quietly);
    }

    /// Waits until all have ended.
    ///
    /// # Panics
    /// With the first panic.
    fn wait(&self) {
        let place = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.done.wait_while(place, |(open, _)| *open > 0);
        let panic = waited.unwrap_or_else(PoisonError::into_inner).1.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}
