//! A task that lies on the stack of the bee that waits for it: the second closure of a join (`join.rs`). It needs no
//! allocation.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::protocol::Team;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;

/// A closure to be run, and later its result. Either the owner takes the closure back, or exactly one thread runs it as
/// a task and sets the latch.
pub(crate) struct StackJob<F, R> {
    /// The closure, until it is run. Taken out by the thread that runs the task, or by the owner if nobody will.
    work: UnsafeCell<Option<F>>,
    /// The closure's result, or the payload of its panic. Written by the thread that runs the task, and read by the
    /// owner after the latch is set.
    result: UnsafeCell<Option<thread::Result<R>>>,
    /// Set when `result` has been written.
    latch: Latch,
    /// The team whose bees may run the task.
    team: *const Team,
    /// The bee that waits for the latch.
    owner: u32,
}

impl<F: FnOnce() -> R + Send, R: Send> StackJob<F, R> {
    /// A job of the bee that `context` belongs to.
    #[inline(always)]
    pub(crate) fn new(context: &TaskContext<'_>, work: F) -> Self {
        Self {
            work: UnsafeCell::new(Some(work)),
            result: UnsafeCell::new(None),
            latch: Latch::new(),
            team: context.team(),
            owner: context.id(),
        }
    }

    /// The task that runs this job. Any bee may run it.
    ///
    /// # Safety
    /// The job stays where it is until the task has been run and the latch is set, or until it is certain that nobody
    /// will run the task.
    #[inline(always)]
    pub(crate) unsafe fn task(&self) -> Task {
        // SAFETY: the caller promises that the job stays in its place. Its closure and its result are `Send`, so the
        // task may be run on another thread.
        unsafe { Task::new::<Self>(self) }
    }

    /// The latch that is set when another bee has run the task.
    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// The closure of a job whose task nobody will run.
    #[inline(always)]
    pub(crate) fn into_work(self) -> F {
        self.work.into_inner().unwrap_or_else(|| unreachable!("nobody has run it"))
    }

    /// The result of the closure, or the payload of its panic. The latch must be set.
    pub(crate) fn into_result(self) -> thread::Result<R> {
        self.result.into_inner().unwrap_or_else(|| unreachable!("the latch is set"))
    }
}

impl<F: FnOnce() -> R + Send, R: Send> Run for StackJob<F, R> {
    unsafe fn run(this: *const Self) {
        // SAFETY: the owner keeps the job in its place until the latch is set, which is done below.
        let job = unsafe { &*this };
        // SAFETY: a task is run once, and the owner touches neither `work` nor `result` before the latch is set, so
        // this thread has them alone.
        let work = unsafe { &mut *job.work.get() }.take();
        let work = work.unwrap_or_else(|| unreachable!("a task is run once"));
        let result = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: as for `work`.
        unsafe { *job.result.get() = Some(result) };
        let (team, owner, latch) = (job.team, job.owner, &raw const job.latch);
        // SAFETY: the team outlives its bees, and the calling thread is one of them.
        let team = unsafe { &*team };
        // SAFETY: the latch is not set yet, so the job still lives; it is not touched after the latch is set. What is
        // needed for that was copied above.
        unsafe { team.set_latch(latch, owner) };
    }
}
