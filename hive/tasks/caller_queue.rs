//! The tasks of a scope that no bee of its hive may run, because others may be waiting for the calling thread and the
//! hive is busy; or because this is a forked child. The thread that has called the scope runs them itself.
//!
//! Not where they are spawned: who spawns a task may hold a lock that the task takes, and a chain of tasks that each
//! spawn the next would be as deep on the stack as it is long. They lie here until the scope's body has ended, or until
//! the thread calls `yield_now` because it waits for one of them.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;
use std::sync::PoisonError;

use crate::protocol::tasks::task::Task;
use crate::sync::Mutex;
use crate::sys::fork;

thread_local! {
    /// Of the innermost scope of this kind that the thread is inside of.
    static INNERMOST: Cell<*const CallerQueue> = const { Cell::new(ptr::null()) };
}

/// Where the tasks of one scope lie.
pub(crate) struct CallerQueue {
    /// A mutex, because a body may spawn from threads of its own.
    tasks: Mutex<Vec<Task>>,
    outer: *const CallerQueue,
    /// A forked child does not run what its parent has spawned.
    generation: u32,
}

/// Calls `run` with a place for the tasks of a scope, which must run all of them.
pub(crate) fn with<R>(run: impl FnOnce(&CallerQueue) -> R) -> R {
    struct RestoreInnermost(*const CallerQueue);
    impl Drop for RestoreInnermost {
        fn drop(&mut self) {
            INNERMOST.set(self.0);
        }
    }
    let queue = CallerQueue { tasks: Mutex::new(Vec::new()), outer: INNERMOST.get(), generation: fork::generation() };
    let _restore = RestoreInnermost(queue.outer);
    INNERMOST.set(&raw const queue);
    run(&queue)
}

/// Runs a task of a scope of this kind that the calling thread is inside of, the innermost first. Says whether there was
/// one.
pub(crate) fn run_one() -> bool {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: `with` takes a place off the list before its stack goes, and the list is read by its own thread only.
        let queue = unsafe { &*next };
        if let Some(task) = queue.pop() {
            task.run();
            return true;
        }
        next = queue.outer;
    }
    false
}

impl CallerQueue {
    pub(crate) fn push(&self, task: Task) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    /// The task that was spawned last, as a bee takes its own: so a tree of tasks is never wider than its branches.
    fn pop(&self) -> Option<Task> {
        if self.generation != fork::generation() {
            return None;
        }
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Runs tasks until all have `have_ended`.
    pub(crate) fn run_until(&self, have_ended: impl Fn() -> bool) {
        while !have_ended() {
            let Some(task) = self.pop() else { fork::abort_forked_child() };
            task.run();
        }
    }
}
