//! A task for the models: it writes plain data and then signals that it is done.
//!
//! A model injects or pushes the `Task` into a hive and waits on the `CheckedTask`, which fails the model if the task
//! has not run exactly once. loom checks that the task's writes are visible to the thread that waits.

use std::cell::Cell;
use std::mem;
use std::sync::Arc;

use crate::data::Datum;
use crate::hive::Hive;
use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::linked_joins::{JoinLink, MakeTask};
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::Semaphore;

/// The handle of a task, on which the thread that posted the task waits.
pub(crate) struct CheckedTask(Arc<CheckedTaskState>);

/// The part that the handle and the task share.
pub(crate) struct CheckedTaskState {
    /// The work of the task. The thread that runs the task takes it out.
    body: Cell<Option<Box<dyn FnOnce()>>>,
    /// How often the task has run.
    runs: Datum,
    /// Posted by the task when it has run.
    done: Semaphore,
}

impl CheckedTask {
    /// Returns a handle and a task that does no work of its own.
    pub(crate) fn new() -> (Self, Task) {
        Self::with_body(|| {})
    }

    /// Returns a handle and a task that does `work`.
    pub(crate) fn with_body(work: impl FnOnce() + 'static) -> (Self, Task) {
        let shared = Arc::new(CheckedTaskState {
            body: Cell::new(Some(Box::new(work))),
            runs: Datum::new(0),
            done: Semaphore::new(),
        });
        // This reference count belongs to the task: `run` takes it back.
        mem::forget(Arc::clone(&shared));
        let handle = Self(shared);
        let task = handle.task();
        (handle, task)
    }

    /// Returns a handle and a task for bee `id` of `hive`, whose `work` uses the task context of that bee.
    pub(crate) fn on_bee(hive: &Hive, id: u32, work: impl FnOnce(&TaskContext<'_>) + 'static) -> (Self, Task) {
        let task_context = hive.task_context_of(id);
        Self::with_body(move || task_context.with(work))
    }

    /// Makes the task once more, for a bee that has taken the first one back: of the two, one is run.
    #[expect(unsafe_code, reason = "erases the task's type")]
    pub(crate) fn task(&self) -> Task {
        // SAFETY: the task's reference count keeps the state alive until the task is run. It may run on any thread,
        // because loom's threads all run on one thread of the system.
        unsafe { Task::new(self.job()) }
    }

    /// Returns the address of what the task runs, by which a bee that waits for the task knows it.
    pub(crate) fn job(&self) -> *const CheckedTaskState {
        Arc::as_ptr(&self.0)
    }

    /// Blocks until the task is done, without running other tasks meanwhile.
    pub(crate) fn wait(self) {
        self.0.done.wait();
        assert_eq!(self.0.runs.get(), 1, "times that the errand was run");
    }
}

#[expect(unsafe_code, reason = "takes a pointer")]
impl Run for CheckedTaskState {
    unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
        // SAFETY: the pointer is that of an `Arc` whose reference count `with_body` has left to the task, and a task is
        // run once.
        let shared = unsafe { Arc::from_raw(this) };
        if let Some(work) = shared.body.take() {
            work();
        }
        shared.runs.set(shared.runs.get() + 1);
        shared.done.post();
    }
}

/// A join whose second half is a checked task.
#[repr(C)]
pub(crate) struct CheckedJoin {
    link: JoinLink,
    pub(crate) second_half: CheckedTask,
}

#[expect(unsafe_code, reason = "passes pointers")]
impl CheckedJoin {
    /// A join that has not begun.
    pub(crate) fn new(second_half: CheckedTask) -> Self {
        // SAFETY: the link is the first part of a join that goes on, since a model ends it before it drops it.
        let make_task: MakeTask = |link, _, _| unsafe { &*link.cast::<Self>() }.second_half.task();
        Self { link: JoinLink::new(make_task), second_half }
    }

    /// Links the join, whose first half begins, on the bee of `hand`. It stays where it is until it is unlinked, and
    /// those that are linked meanwhile are unlinked before it.
    pub(crate) fn link(&self, hand: &TaskContext<'_>) {
        // SAFETY: as the caller promises.
        unsafe { hand.joins.link((&raw const *self).cast()) };
    }

    /// Unlinks it, as its first half has ended. Returns whether the second half has not been shared.
    pub(crate) fn unlink(&self, hand: &TaskContext<'_>) -> bool {
        hand.joins.unlink(&self.link)
    }
}
