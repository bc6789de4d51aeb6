//! The end of a hive: its handle ends the workers and waits for their threads as far as that is safe, and the last
//! owner runs the tasks that are left and writes the timeline.
//!
//! `docs/waits-between-hives.md` says why the waits in this file cannot form a cycle.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crate::observe::trace::traced_hives::TracedHive;
use crate::pool::shared::Shared;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::sys::presence::while_off_core;

impl Shared {
    /// Ends all workers and waits for their threads.
    ///
    /// It waits for none of them if they may be waiting for the calling thread, directly or over other hives, and never
    /// if the calling thread is one of them. Then the workers end by themselves, and the last one finishes the hive.
    pub(crate) fn shut_down(&self) {
        if self.is_forked() {
            return;
        }
        // Relaxed: a hint, for calls of free functions in tasks that still run: see `has_ended`.
        self.has_ended.store(true, Ordering::Relaxed);
        self.watchdog.stop();
        self.team.terminate_all();
        self.thread_hosts.clear();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread that is not one of the hive's workers joins them, unless that would close a cycle of waits between
        // hives. One of the workers does not wait for the others: they may be waiting for the task that it is in the
        // middle of, in a scope or a join that a free function has begun, which borrows no handle.
        if !self.wait_node.is_current_hive() {
            self.wait_node.unless_deadlock(|| join_all(threads));
        }
        self.release_owner();
    }

    /// Whether the hive's handle has been dropped, as far as the calling thread knows. Tasks of the hive may still run;
    /// the free functions in them then act on the global hive, because this one has no use for anything new.
    pub(crate) fn has_ended(&self) -> bool {
        // Relaxed: a hint. What must not happen on a hive that has ended is refused under the lock of resizes.
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Gives up one owner of the hive. The last owner runs the tasks that are still queued and writes the timeline.
    pub(crate) fn release_owner(&self) {
        // AcqRel: pairs with itself in the other owners. The last owner has seen everything that the others did before
        // they gave up theirs.
        if self.live_owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.run_leftover_tasks();
            self.write_final_trace();
        }
    }
}

impl Shared {
    /// Runs what is still queued. The jobs of a task pool expect to be run by one of its threads.
    fn run_leftover_tasks(&self) {
        if self.task_pool.is_none() {
            let _mode = self.team.float_mode().enter();
            return self.team.run_leftover_tasks();
        }
        // Bee 1 is there in every pool but one that consists of the thread that has built it, which never ends. All
        // threads have ended, so the bee has no other context.
        let context = TaskContext::of_ended_bee(&self.team, 1);
        nesting::within_tasks(&context, || self.team.run_leftover_tasks());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_forked() {
            // The threads belong to the parent process. Dropping a handle would detach a thread by an id that another
            // thread may have by now; see `Watchdog::forget_thread`.
            std::mem::take(self.threads.get_mut().unwrap_or_else(PoisonError::into_inner))
                .into_iter()
                .for_each(std::mem::forget);
            self.watchdog.forget_thread();
        }
    }
}

/// Joins these threads, none of which is the calling one. That one may be a worker of another hive.
fn join_all(threads: Vec<JoinHandle<()>>) {
    let join = |thread: JoinHandle<()>| thread.join().expect("a bee catches the panics of what it runs");
    while_off_core(|| threads.into_iter().for_each(join));
}
