//! Runs tasks on a hive for a thread that waits, blocked, until they are done. For threads that are not bees of the
//! hive and cannot become its queen: `enter.rs` uses it for `join`, `scope` and `install`, and `handle.rs` for
//! `broadcast`.

#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::task::Task;
use crate::region::nesting::rethrow;
use crate::sync::{Condvar, Mutex};
use crate::sys::fork::with_abort_in_child;
use crate::tasks::first_panic::FirstPanic;
use crate::tasks::owned_job::{Job, JobPlace, task_of};

/// Runs `work` as a task, which `queue` queues, and returns its result when it has ended.
///
/// # Panics
/// If `work` does, with that panic.
pub(crate) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    let completion = Completion::new(1);
    let abort_guard = abort_guard();
    // SAFETY: what the task borrows lives on this thread's stack until the task has ended: this thread waits for that
    // below, and the guard aborts the process if anything unwinds before.
    queue(unsafe { completion.task(|| result = Some(with_abort_in_child(work))) });
    completion.wait();
    abort_guard.disarm();
    completion.rethrow_first();
    result.unwrap_or_else(|| unreachable!("it has ended without a panic"))
}

/// Runs `work` once for each bee of `bees`, as a task for that bee alone, and returns when all have ended.
///
/// # Panics
/// If `work` does for some bee, with the first such panic, after all have ended.
pub(crate) fn run_each(team: &Team, bees: RangeInclusive<u32>, work: impl Fn(u32) + Sync) {
    let completion = Completion::new(bees.clone().count());
    let work = &work;
    let abort_guard = abort_guard();
    team.send_in_one_order(|| {
        for bee in bees {
            // SAFETY: as in `run`.
            team.send_to_mailbox(bee, unsafe { completion.task(move || work(bee)) });
        }
    });
    completion.wait();
    abort_guard.disarm();
    completion.rethrow_first();
}

/// The guard for the time in which tasks borrow from the stack of the waiting thread.
fn abort_guard() -> AbortOnUnwind {
    AbortOnUnwind::new("in a thread that waits for its tasks")
}

/// What the thread waits on. It is shared with the tasks by reference counting, so that it does not matter who touches
/// it last.
#[derive(Clone)]
struct Completion(Arc<CompletionState>);

/// What a waiting thread and its tasks share.
struct CompletionState {
    /// The number of tasks that have not ended. Each task decreases it when nothing of its work is left.
    remaining: Mutex<usize>,
    /// Notified when `remaining` becomes zero.
    done: Condvar,
    /// The first panic of a task.
    panic: FirstPanic,
}

/// A job that the waiting thread waits for.
struct AwaitedJob<F> {
    work: F,
    completion: Completion,
}

impl<F: FnOnce() + Send> Job for AwaitedJob<F> {
    type Owner = ();
    unsafe fn run(_: *const (), job: JobPlace<Self>) {
        let Self { work, completion } = job.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            completion.0.panic.record(panic);
        }
        completion.end_one();
    }
}

impl Completion {
    fn new(tasks: usize) -> Self {
        Self(Arc::new(CompletionState {
            remaining: Mutex::new(tasks),
            done: Condvar::new(),
            panic: FirstPanic::default(),
        }))
    }

    /// Makes one of the tasks that the thread waits for.
    ///
    /// # Safety
    /// What `work` borrows lives until `wait` has returned.
    unsafe fn task(&self, work: impl FnOnce() + Send) -> Task {
        // SAFETY: by the caller's promise the borrows live until `wait` returns, and `wait` returns only after the task
        // has been counted as ended, when nothing of `work` is left.
        unsafe { task_of(&(), AwaitedJob { work, completion: self.clone() }) }
    }

    /// Counts a task as ended.
    fn end_one(self) {
        let mut remaining = self.0.remaining.lock();
        *remaining -= 1;
        if *remaining == 0 {
            self.0.done.notify_one();
        }
    }

    /// Waits until all tasks have ended.
    fn wait(&self) {
        let remaining = self.0.remaining.lock();
        drop(self.0.done.wait_while(remaining, |remaining| *remaining > 0).unwrap_or_else(PoisonError::into_inner));
    }

    /// Continues the first panic of the tasks, if there was one. All tasks have ended.
    ///
    /// # Panics
    /// With the first panic.
    fn rethrow_first(self) {
        if let Some(panic) = self.0.panic.take() {
            rethrow(panic);
        }
    }
}
