//! A task that lies on the stack of the bee that waits for it: the second closure of a join (`join.rs`). It needs no
//! allocation.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::protocol::Team;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::sys::fork::with_abort_in_child;

/// A closure to be run, and later its result. The closure is told whether another bee
/// than the owner runs it. Either the owner takes the closure back, or exactly one thread runs it as
/// a task and sets the latch.
///
/// Most jobs are taken back at once. So a job is never moved, and has no tags that say what is in it: a join writes the
/// closure, three words, and reads the closure.
pub(crate) struct StackJob<F, R> {
    /// The closure, until the thread that runs the task takes it out, or the owner if nobody will.
    work: UnsafeCell<MaybeUninit<F>>,
    /// The closure's result, or the payload of its panic. Written by the thread that runs the task before it sets the
    /// latch, and taken out by the owner afterwards.
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
    /// Set when `result` has been written.
    latch: Latch,
    /// The team whose bees may run the task.
    team: *const Team,
    /// The bee that waits for the latch.
    owner: u32,
}

impl<F: FnOnce(bool) -> R + Send, R: Send> StackJob<F, R> {
    /// A job of the bee that `context` belongs to. The closure is dropped only if it is run.
    #[inline(always)]
    pub(crate) fn new(context: &TaskContext<'_>, work: F) -> Self {
        Self {
            work: UnsafeCell::new(MaybeUninit::new(work)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
            latch: Latch::new(),
            team: context.team(),
            owner: context.id(),
        }
    }

    /// The kind of the tasks of such jobs.
    #[inline(always)]
    pub(crate) fn kind() -> usize {
        Task::kind_of::<Self>()
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

    /// Whether the calling thread, which runs the task, is another bee than the owner.
    fn is_elsewhere(&self) -> bool {
        // SAFETY: the team outlives its bees, and the calling thread is one of them.
        let team = unsafe { &*self.team };
        nesting::with_innermost_tasks(team, |context| context.is_none_or(|context| context.id() != self.owner))
    }

    /// The latch that is set when another bee has run the task.
    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// The caller is the thread that runs the task; or it is the owner, and nobody runs the task. It calls this once.
    #[inline(always)]
    pub(crate) unsafe fn take_work(&self) -> F {
        // SAFETY: the caller is the only one that touches `work`, as it promises.
        let work = unsafe { &*self.work.get() };
        // SAFETY: the closure is there since `new`, and is read once, as the caller promises.
        unsafe { work.assume_init_read() }
    }

    /// Takes out the result of the closure, or the payload of its panic.
    ///
    /// # Safety
    /// The caller is the owner, has seen the latch set, and calls this once.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: the thread that has set the latch does not touch the job any more.
        let result = unsafe { &*self.result.get() };
        // SAFETY: the result was written before the latch was set, and is read once, as the caller promises.
        unsafe { result.assume_init_read() }
    }
}

impl<F: FnOnce(bool) -> R + Send, R: Send> Run for StackJob<F, R> {
    unsafe fn run(this: *const Self) {
        // SAFETY: the owner keeps the job in its place until the latch is set, which is done below.
        let job = unsafe { &*this };
        // SAFETY: a task is run once, and the owner takes the closure only if nobody runs the task.
        let work = unsafe { job.take_work() };
        let is_elsewhere = job.is_elsewhere();
        let result = catch_unwind(AssertUnwindSafe(|| with_abort_in_child(|| work(is_elsewhere))));
        // SAFETY: the owner does not touch `result` before the latch is set.
        unsafe { *job.result.get() = MaybeUninit::new(result) };
        let (team, owner, latch) = (job.team, job.owner, &raw const job.latch);
        // SAFETY: the team outlives its bees, and the calling thread is one of them.
        let team = unsafe { &*team };
        // SAFETY: the latch is not set yet, so the job still lives; it is not touched after the latch is set. What is
        // needed for that was copied above.
        unsafe { team.set_latch(latch, owner) };
    }
}
