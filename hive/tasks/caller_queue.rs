//! The tasks of a scope that only the thread that called the scope may run: because the hive is busy and others may be
//! waiting for that thread, or because this is a forked child. `scope.rs` uses it where `enter.rs` has found no bee to
//! run the scope on.
//!
//! The tasks do not run at the place where they are spawned. A thread that spawns a task may hold a lock that the task
//! takes, and a chain of tasks that each spawn the next would be as deep on the stack as it is long. So they are queued
//! here until the scope's body has ended, or until the thread calls `yield_now` because it waits for one of them.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::{iter, ptr};

use crate::on_drop::on_drop;
use crate::protocol::tasks::task::Task;
use crate::sync::{Mutex, has_stack_room, run_late_in_yield};
use crate::sys::fork;

thread_local! {
    /// The queue of the innermost scope of this kind that the thread is inside; null if there is none.
    static INNERMOST: Cell<*const CallerQueue> = const { Cell::new(ptr::null()) };
}

/// The queued tasks of one scope. It lies on the stack of the thread that called the scope.
pub(crate) struct CallerQueue {
    /// In a mutex, because the scope's body may spawn from threads of its own.
    tasks: Mutex<Vec<Task>>,
    /// The queue of the next scope further out on this thread; null if there is none.
    outer: *const CallerQueue,
    /// The fork generation in which the scope began: a forked child does not run the tasks that its parent has spawned.
    generation: u32,
}

/// Calls `run` with a queue for the tasks of a scope. `run` must run all tasks that are put into it.
pub(crate) fn with<R>(run: impl FnOnce(&CallerQueue) -> R) -> R {
    let queue = CallerQueue { tasks: Mutex::new(Vec::new()), outer: INNERMOST.get(), generation: fork::generation() };
    let _restore = on_drop(|| INNERMOST.set(queue.outer));
    INNERMOST.set(&raw const queue);
    run(&queue)
}

/// Runs one task of a scope of this kind that the calling thread is inside, the innermost scope first. If too little of
/// the stack is left, it does so only at long intervals. Returns whether it has run one.
pub(crate) fn run_one() -> bool {
    if INNERMOST.get().is_null() {
        return false;
    }
    if has_stack_room() { run_newest() } else { run_late_in_yield(run_newest) }
}

fn run_newest() -> bool {
    // SAFETY: `with` takes a queue off the list before the queue goes out of scope, and only the thread itself reads
    // its list.
    let at = |queue: *const CallerQueue| unsafe { queue.as_ref() };
    let mut queues = iter::successors(at(INNERMOST.get()), |queue| at(queue.outer));
    queues.find_map(CallerQueue::pop).map(|task| task.run(None)).is_some()
}

impl CallerQueue {
    /// Queues a task.
    pub(crate) fn push(&self, task: Task) {
        self.tasks.lock().push(task);
    }

    /// Takes the task that was spawned last. Bees take their own tasks in the same order: so, of a tree of tasks, only
    /// the siblings along one path are queued at a time.
    fn pop(&self) -> Option<Task> {
        if self.generation != fork::generation() {
            return None;
        }
        self.tasks.lock().pop()
    }

    /// Runs tasks until `have_ended` says that all tasks of the scope have ended.
    pub(crate) fn run_until(&self, have_ended: impl Fn() -> bool) {
        while !have_ended() {
            // No task is left to run, and not all have ended: so some were spawned before a fork, and this is the
            // child.
            let Some(task) = self.pop() else { fork::abort_forked_child() };
            task.run(None);
        }
    }
}
