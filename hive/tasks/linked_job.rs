//! The second half of a linked join (`protocol/tasks/linked_joins.rs`): a job with a place in the list.

#![allow(unsafe_code)]

use crate::protocol::Team;
use crate::protocol::tasks::linked_joins::JoinLink;
use crate::protocol::tasks::task::Task;
use crate::tasks::stack_job::StackJob;

/// A job, and the link of the join that it belongs to.
// `make_task` is given the address of the link, which is that of the whole only if the link comes first.
#[repr(C)]
pub(crate) struct LinkedJob<F, R> {
    link: JoinLink,
    job: StackJob<F, R>,
}

impl<F: FnOnce(bool) -> R + Send, R: Send> LinkedJob<F, R> {
    /// A job that is not linked yet.
    #[inline]
    pub(crate) fn new(work: F) -> Self {
        Self { link: JoinLink::new(Self::make_task), job: StackJob::new(work) }
    }

    /// Its link.
    #[inline]
    pub(crate) fn link(&self) -> *const JoinLink {
        // Not `&self.link`: through a pointer that is made of that, `make_task` could not get at the job.
        (&raw const *self).cast()
    }

    /// The job itself.
    #[inline]
    pub(crate) fn job(&self) -> &StackJob<F, R> {
        &self.job
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
        assert!(list.unlink(jobs[2].link()) && !list.is_empty());
        let mut tasks = Vec::new();
        list.take_all(&team, 0, |task| tasks.push(task));
        assert!(list.is_empty() && !list.unlink(jobs[1].link()));
        assert!(tasks[0].is_of(jobs[0].job()) && tasks[1].is_of(jobs[1].job()) && tasks.len() == 2);
        tasks.into_iter().for_each(Task::run);
        // SAFETY: the tasks have been run.
        let results = [0, 1].map(|i| unsafe { jobs[i].job().take_result() }.expect("it has not panicked"));
        assert_eq!(results, ["outer", "inner"]);
    }
}
