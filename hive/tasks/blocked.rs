//! A thread that does nothing else while a hive runs something for it.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::heap_job::HeapJob;
use crate::crew::Task;

/// Has `work` run as a task that `queue` queues, and returns when it is done.
pub(super) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let desk = Desk { result: Mutex::new(None), done: Condvar::new() };
    let job = || {
        let result = catch_unwind(AssertUnwindSafe(work));
        // Under the lock to the end: the desk goes as soon as the other thread has it.
        let mut place = desk.result.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(result);
        desk.done.notify_one();
    };
    // SAFETY: what the job borrows lives until it has run, because this thread waits for that below.
    queue(unsafe { HeapJob::task(job) });
    desk.wait().unwrap_or_else(|panic| resume_unwind(panic))
}

struct Desk<R> {
    result: Mutex<Option<thread::Result<R>>>,
    done: Condvar,
}

impl<R> Desk<R> {
    fn wait(&self) -> thread::Result<R> {
        let mut place = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match place.take() {
                Some(result) => return result,
                None => place = self.done.wait(place).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
