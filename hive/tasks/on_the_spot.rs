//! The tasks of a scope that no member of its hive may run, because others may be waiting for the calling thread and the
//! hive is busy; or because this is a forked child. The thread that has called the scope runs them itself.
//!
//! Not where they are spawned: who spawns a task may hold a lock that the task takes, and a chain of tasks that each
//! spawn the next would be as deep on the stack as it is long. They lie here until the scope's body has ended, or until
//! the thread calls `yield_now` because it waits for one of them.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;
use std::sync::PoisonError;

use crate::crew::Task;
use crate::fork;
use crate::sync::Mutex;

thread_local! {
    /// Of the innermost scope of this kind that the thread is inside of.
    static INNERMOST: Cell<*const Spot> = const { Cell::new(ptr::null()) };
}

/// Where the tasks of one scope lie.
pub(super) struct Spot {
    /// A mutex, because a body may spawn from threads of its own.
    tasks: Mutex<Vec<Task>>,
    outer: *const Spot,
    /// A forked child does not run what its parent has spawned.
    generation: u32,
}

/// Calls `use_it` with a place for the tasks of a scope, which must run all of them.
pub(super) fn with<R>(use_it: impl FnOnce(&Spot) -> R) -> R {
    struct Left(*const Spot);
    impl Drop for Left {
        fn drop(&mut self) {
            INNERMOST.set(self.0);
        }
    }
    let spot = Spot { tasks: Mutex::new(Vec::new()), outer: INNERMOST.get(), generation: fork::generation() };
    let _left = Left(spot.outer);
    INNERMOST.set(&raw const spot);
    use_it(&spot)
}

/// Runs a task of a scope of this kind that the calling thread is inside of, the innermost first. Says whether there was
/// one.
pub(super) fn run_one() -> bool {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: `with` takes a place off the list before its stack goes, and the list is read by its own thread only.
        let spot = unsafe { &*next };
        if let Some(task) = spot.take() {
            task.run();
            return true;
        }
        next = spot.outer;
    }
    false
}

impl Spot {
    pub(super) fn push(&self, task: Task) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    /// The task that was spawned last, as a member takes its own: so a tree of tasks is never wider than its branches.
    fn take(&self) -> Option<Task> {
        if self.generation != fork::generation() {
            return None;
        }
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Runs tasks until all have `ended`.
    pub(super) fn run_until(&self, ended: impl Fn() -> bool) {
        while !ended() {
            let Some(task) = self.take() else { fork::end_stray_child() };
            task.run();
        }
    }
}
