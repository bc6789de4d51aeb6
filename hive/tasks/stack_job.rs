//! A task that lies on the stack of a bee that waits for it.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::protocol::Team;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;

pub(crate) struct StackJob<F, R> {
    work: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<thread::Result<R>>>,
    latch: Latch,
    team: *const Team,
    owner: u32,
}

impl<F: FnOnce() -> R + Send, R: Send> StackJob<F, R> {
    /// Of the bee whose hand it is.
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

    /// The task, to be run by anybody.
    ///
    /// # Safety
    /// The job stays where it is until the task has been run, or is known never to be.
    #[inline(always)]
    pub(crate) unsafe fn task(&self) -> Task {
        // SAFETY: the caller's promise; what the job holds may change threads.
        unsafe { Task::new::<Self>(self) }
    }

    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// The work, of a job whose task nobody will run.
    #[inline(always)]
    pub(crate) fn into_work(self) -> F {
        self.work.into_inner().unwrap_or_else(|| unreachable!("nobody has run it"))
    }

    /// How the work went, once the latch is set.
    pub(crate) fn into_result(self) -> thread::Result<R> {
        self.result.into_inner().unwrap_or_else(|| unreachable!("the latch is set"))
    }
}

impl<F: FnOnce() -> R + Send, R: Send> Run for StackJob<F, R> {
    unsafe fn run(this: *const Self) {
        // SAFETY: the job lives until its latch is set.
        let job = unsafe { &*this };
        // SAFETY: a task is run once, and the owner touches neither field before the latch is set.
        let work = unsafe { &mut *job.work.get() }.take();
        let work = work.unwrap_or_else(|| unreachable!("a task is run once"));
        let result = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: as above.
        unsafe { *job.result.get() = Some(result) };
        let (team, owner, latch) = (job.team, job.owner, &raw const job.latch);
        // SAFETY: the team outlives its bees, of which the calling thread is one.
        let team = unsafe { &*team };
        // SAFETY: the latch is not set yet; the job is not touched from here on.
        unsafe { team.set_latch(latch, owner) };
    }
}
