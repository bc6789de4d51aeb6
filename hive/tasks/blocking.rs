//! Runs tasks on a hive for a thread that waits, blocked, until they are done. For threads that are not bees of the
//! hive and cannot become its queen: `enter.rs` uses it for `join`, `scope` and `install`, and `handle.rs` for
//! `broadcast`.

#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use crate::protocol::Team;
use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::region::panics::{Payload, drop_ignoring_panics};
use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::task::{Run, Task};
use crate::region::nesting::rethrow;
use crate::sys::fork::with_abort_in_child;
use crate::tasks::job_memory::take_out;
use crate::tasks::owned_job::task_of;

/// Runs `work` as a task, which `queue` queues, and returns its result when it has ended.
///
/// # Panics
/// If `work` does, with that panic.
pub(crate) fn run<R: Send>(queue: impl FnOnce(Task), work: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    // SAFETY: the task is made for `wait_for`.
    wait_for(|tasks| queue(unsafe { tasks.make(|| result = Some(with_abort_in_child(work))) }));
    result.unwrap_or_else(|| unreachable!("it has ended without a panic"))
}

/// Runs `work` once for each bee of `bees`, as a task for that bee alone, and returns when all have ended.
///
/// # Panics
/// If `work` does for some bee, with the first such panic, after all have ended.
pub(crate) fn run_each(team: &Team, bees: RangeInclusive<u32>, work: impl Fn(u32) + Sync) {
    let work = &work;
    wait_for(|tasks| {
        team.send_in_one_order(|| {
            for bee in bees {
                // SAFETY: as in `run`.
                team.send_to_mailbox(bee, unsafe { tasks.make(move || work(bee)) });
            }
        });
    });
}

/// Calls `queue`, which makes tasks and queues them, and waits until all of them have ended. What they borrow lives on
/// this thread's stack, further out, until then: the guard aborts the process if anything unwinds before.
///
/// # Panics
/// With the first panic of a task, if there was one.
fn wait_for(queue: impl FnOnce(AwaitedTasks)) {
    let (panics, received) = mpsc::channel();
    let abort_guard = AbortOnUnwind::new("in a thread that waits for its tasks");
    queue(AwaitedTasks(panics));
    let first = received.recv().ok();
    received.iter().for_each(drop_ignoring_panics);
    abort_guard.disarm();
    if let Some(panic) = first {
        rethrow(panic);
    }
}

/// What makes the tasks that a thread waits for: where they send their panics. Each task has a clone until nothing of
/// its work is left, and the thread waits until there is none.
struct AwaitedTasks(mpsc::Sender<Payload>);

/// A job that the waiting thread waits for.
struct AwaitedJob<F> {
    work: F,
    panics: mpsc::Sender<Payload>,
}

impl<F: FnOnce() + Send> Run for AwaitedJob<F> {
    unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
        // SAFETY: `task_of` has put it there, and a task is run once.
        let Self { work, panics } = unsafe { take_out(this) };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            // The thread that waits receives it: it waits for this very task.
            _ = panics.send(panic);
        }
        // Tells it that the task has ended.
        drop(panics);
    }
}

impl AwaitedTasks {
    /// Makes one of the tasks that the thread waits for.
    ///
    /// # Safety
    /// It is called by the `queue` of `wait_for`, and what `work` borrows lives until that function has returned.
    unsafe fn make(&self, work: impl FnOnce() + Send) -> Task {
        // SAFETY: by the caller's promise the borrows live until `wait_for` returns, and that returns only after the
        // task has been counted as ended, when nothing of `work` is left.
        unsafe { task_of(AwaitedJob { work, panics: self.0.clone() }) }
    }
}
