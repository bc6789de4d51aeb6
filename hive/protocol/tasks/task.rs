//! A task with its type erased. It is two words, which are passed in registers. The closures behind tasks are in
//! `tasks/stack_job.rs` and `tasks/owned_job.rs`.

#![allow(unsafe_code)]

use std::ptr;

use crate::protocol::abort_on_unwind::AbortOnUnwind;
use crate::protocol::tasks::held_credit::HeldCredit;

/// What can be run as a task, once.
pub(crate) trait Run {
    /// Whether `run` itself sees to what the bee has in hand of a scope. Otherwise that is given back before
    /// (`held_credit.rs`). Only the jobs of scopes know whether it is of use to them.
    const SEES_TO_CREDIT: bool = false;

    /// Runs the task. An implementation catches any panic, and tells those who wait for the task that it has ended.
    /// `*this` may no longer exist when this returns. `held`: as for [`Task::run`].
    ///
    /// # Safety
    /// The caller passes a pointer that `Task::new` was called with, and calls this once for it.
    unsafe fn run(this: *const Self, held: Option<&HeldCredit>);
}

/// A task to be run once: the address of what it works on, and the function that knows its type.
pub(crate) struct Task {
    /// What `new` was given, without its type.
    this: *const (),
    /// The function that casts `this` back.
    run: RunTask,
}

/// Runs what `this` is. `held` is that of the calling bee; None: the thread runs the task as no bee.
type RunTask = unsafe fn(this: *const (), held: Option<&HeldCredit>);

// SAFETY: the caller of `new` promises that the task may be run on any thread.
unsafe impl Send for Task {}

impl Task {
    /// Makes a task of what `this` points to.
    ///
    /// # Safety
    /// `*this` lives until the task has been run, and may be run on any thread. Of all tasks that are made of `this`,
    /// one is run.
    pub(crate) unsafe fn new<T: Run>(this: *const T) -> Self {
        Self { this: this.cast(), run: Self::run_as::<T> }
    }

    /// # Safety
    /// As for `Run::run`: `this` is a `*const T` that `new` was called with.
    unsafe fn run_as<T: Run>(this: *const (), held: Option<&HeldCredit>) {
        if !T::SEES_TO_CREDIT {
            held.into_iter().for_each(HeldCredit::give_back);
        }
        // SAFETY: as the caller promises.
        unsafe { T::run(this.cast(), held) }
    }

    /// What tells the tasks that `new` makes of a `*const T` from others, mostly: the function that runs them, which is
    /// made for a type.
    #[inline(always)]
    pub(crate) fn kind_of<T: Run>() -> usize {
        Self::run_as::<T> as RunTask as usize
    }

    /// Whether this is the task that `new` has made of `this`. Neither has been run yet, so what they point to lives.
    pub(crate) fn is_of<T>(&self, this: *const T) -> bool {
        ptr::eq(self.this, this.cast())
    }

    /// Runs the task. `held` is what the calling bee has in hand of a scope. None: the thread runs the task as no bee,
    /// because it is a scope's caller where there is no hive, or the last owner of a hive that has ended.
    ///
    /// A panic that leaves `Run::run` aborts the process, because another bee may wait for this task for ever.
    #[inline(always)]
    pub(crate) fn run(self, held: Option<&HeldCredit>) {
        let intact = AbortOnUnwind::new("in a task");
        // SAFETY: who made the task has promised what `run` asks for, and the queues hand out each task once.
        unsafe { (self.run)(self.this, held) }
        intact.disarm();
    }
}
