//! A task that lies on the stack of the bee that waits for it: the second closure of a join (`join.rs`). It needs no
//! allocation.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::protocol::Team;
use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::linked_joins::JoinLink;
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::sys::fork::with_abort_in_child;

/// A closure to be run, and later its result. The closure is told whether another bee than the owner runs it. Either
/// the owner takes the closure back, or exactly one thread runs it as a task and sets the latch.
///
/// Most jobs are taken back at once. So a job is never moved, and has no tags that say what is in it: a join writes the
/// closure, and reads it. The rest is written before there is a task, by `make_task`.
pub(crate) struct StackJob<F, R> {
    content: UnsafeCell<Content<F, R>>,
    /// Written by `make_task`, before there is a task.
    completion: UnsafeCell<MaybeUninit<Completion>>,
}

/// What a job has in it, at different times.
union Content<F, R> {
    /// The closure, until the thread that runs the task takes it out, or the owner if nobody will.
    work: ManuallyDrop<F>,
    /// The closure's result, or the payload of its panic. Written by the thread that runs the task before it sets the
    /// latch, and taken out by the owner afterwards.
    result: ManuallyDrop<thread::Result<R>>,
}

/// What the thread that runs the task needs to tell the owner of its end.
struct Completion {
    /// Set when the result has been written.
    latch: Latch,
    /// The team whose bees may run the task.
    team: *const Team,
    /// The bee that waits for the latch.
    owner: u32,
}

impl<F: FnOnce(bool) -> R + Send, R: Send> StackJob<F, R> {
    /// A job. The closure is dropped only if it is run.
    #[inline]
    pub(crate) fn new(work: F) -> Self {
        Self {
            content: UnsafeCell::new(Content { work: ManuallyDrop::new(work) }),
            completion: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The task that runs this job of bee `owner` of `team`. Any bee may run it.
    ///
    /// # Safety
    /// The job stays where it is until the task has been run and the latch is set, or until it is certain that nobody
    /// will run the task. The caller is the owner, and calls this once.
    #[inline]
    pub(crate) unsafe fn make_task(&self, team: &Team, owner: u32) -> Task {
        let completion = Completion { latch: Latch::default(), team, owner };
        // SAFETY: there is no task yet, so nobody else knows of the job.
        unsafe { *self.completion.get() = MaybeUninit::new(completion) };
        // SAFETY: the caller promises that the job stays in its place. Its closure and its result are `Send`, so the
        // task may be run on another thread.
        unsafe { Task::new::<Self>(self) }
    }

    /// # Safety
    /// `make_task` has been called.
    unsafe fn completion(&self) -> &Completion {
        // SAFETY: it is written before there is a task, and only read from then on.
        let completion = unsafe { &*self.completion.get() };
        // SAFETY: as the caller promises.
        unsafe { completion.assume_init_ref() }
    }

    /// The latch that is set when another bee has run the task.
    ///
    /// # Safety
    /// `make_task` has been called.
    pub(crate) unsafe fn latch(&self) -> &Latch {
        // SAFETY: as the caller promises.
        &unsafe { self.completion() }.latch
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// The caller is the thread that runs the task; or it is the owner, and nobody runs the task. It calls this once.
    #[inline]
    pub(crate) unsafe fn take_work(&self) -> F {
        // SAFETY: the caller is the only one that touches the job, as it promises.
        let content = unsafe { &mut *self.content.get() };
        // SAFETY: the closure is there since `new`.
        let work = unsafe { &mut content.work };
        // SAFETY: it is taken once, as the caller promises.
        unsafe { ManuallyDrop::take(work) }
    }

    /// Takes out the result of the closure, or the payload of its panic.
    ///
    /// # Safety
    /// The caller is the owner, has seen the latch set, and calls this once.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: the thread that has set the latch does not touch the job any more.
        let content = unsafe { &mut *self.content.get() };
        // SAFETY: the result was written before the latch was set.
        let result = unsafe { &mut content.result };
        // SAFETY: it is taken once, as the caller promises.
        unsafe { ManuallyDrop::take(result) }
    }
}

impl<F: FnOnce(bool) -> R + Send, R: Send> Run for StackJob<F, R> {
    unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
        // SAFETY: the owner keeps the job in its place until the latch is set, which is done below.
        let job = unsafe { &*this };
        // SAFETY: a task is run once, and the owner takes the closure only if nobody runs the task.
        let work = unsafe { job.take_work() };
        // SAFETY: there is a task, so it has been written.
        let &Completion { ref latch, team, owner } = unsafe { job.completion() };
        let latch = &raw const *latch;
        // SAFETY: the team outlives its bees, and the calling thread is one of them.
        let team = unsafe { &*team };
        let is_owner = |context: &TaskContext<'_>| context.id == owner;
        let is_elsewhere = !nesting::with_innermost_tasks(team, |context| context.is_some_and(is_owner));
        let result = catch_unwind(AssertUnwindSafe(|| with_abort_in_child(|| work(is_elsewhere))));
        // SAFETY: the closure has been taken out, and the owner does not touch the job before the latch is set.
        unsafe { *job.content.get() = Content { result: ManuallyDrop::new(result) } };
        // SAFETY: the latch is not set yet, so the job still lives; it is not touched after the latch is set. What is
        // needed for that was copied above.
        unsafe { team.set_latch(latch, owner) };
    }
}

/// The second half of a join in the bee's list (`protocol/tasks/linked_joins.rs`): a job, and the link of the join.
// `make_task` is given the address of the link, which is that of the whole only if the link comes first.
#[repr(C)]
pub(crate) struct LinkedJob<F, R> {
    pub(crate) link: JoinLink,
    pub(crate) job: StackJob<F, R>,
}

impl<F: FnOnce(bool) -> R + Send, R: Send> LinkedJob<F, R> {
    /// A job that is not linked yet.
    #[inline]
    pub(crate) fn new(work: F) -> Self {
        Self { link: JoinLink::new(Self::make_task), job: StackJob::new(work) }
    }

    /// Its link, as the list of joins wants it.
    #[inline]
    pub(crate) fn link(&self) -> *const JoinLink {
        // Not `&self.link`: through a pointer that is made of that, `make_task` could not get at the job.
        (&raw const *self).cast()
    }

    /// The kind of the task of its job.
    #[inline]
    pub(crate) fn kind(&self) -> usize {
        Task::kind_of::<StackJob<F, R>>()
    }

    /// # Safety
    /// As for `MakeTask`; and `link` is what the method of that name has returned.
    unsafe fn make_task(link: *const JoinLink, team: &Team, owner: u32) -> Task {
        // SAFETY: the caller promises that it is the address of such a job, in the frame of a join that goes on.
        let this = unsafe { &*link.cast::<Self>() };
        // SAFETY: the join waits for the task's end or takes the task back. The caller calls this once.
        unsafe { this.job.make_task(team, owner) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::neighbours::Neighbours;
    use crate::protocol::region::line_choice::LineChoice;
    use crate::protocol::region::shape::{BarrierShape, Shape};
    use crate::protocol::tasks::linked_joins::LinkedJoins;
    use crate::protocol::tasks::sleep::Sleep;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::wait::WaitPolicy;

    #[test]
    fn the_tasks_of_linked_jobs_run_them_the_outermost_first() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let shape = Shape::new(BarrierShape::Flat, &[], 1);
        let team = Team::new(1, policy, LineChoice::new(1), Sleep::jec(), Neighbours::new(&[]), shape, None);
        let list = LinkedJoins::new();
        let jobs = ["outer", "inner", "innermost"].map(|name| LinkedJob::new(move |_| name.to_owned()));
        for job in &jobs {
            // SAFETY: the jobs stay where they are until the end of this function.
            unsafe { list.link(job.link()) };
        }
        assert!(list.unlink(&jobs[2].link) && !list.is_empty());
        let mut tasks = Vec::new();
        let mut take = |most| list.take_outermost(most, &team, 0, |task| tasks.push(task));
        assert_eq!((take(0), take(1), take(usize::MAX), take(1)), (0, 1, 1, 0));
        assert!(list.is_empty() && !list.unlink(&jobs[1].link) && !list.unlink(&jobs[0].link) && list.is_empty());
        assert!(tasks[0].is_of(&jobs[0].job) && tasks[1].is_of(&jobs[1].job) && tasks.len() == 2);
        tasks.into_iter().for_each(|task| task.run(None));
        // SAFETY: the tasks have been run.
        let results = [0, 1].map(|i| unsafe { jobs[i].job.take_result() }.expect("it has not panicked"));
        assert_eq!(results, ["outer", "inner"]);
    }
}
