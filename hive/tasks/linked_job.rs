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
