//! The end of a hive: its handle ends the workers and waits for their threads as far as that is safe, and the last
//! owner runs the tasks that are left and writes the timeline.
//!
//! `docs/waits-between-hives.md` says why the waits in this file cannot form a cycle.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;

use crate::observe::trace::traced_hives::TracedHive;
use crate::pool::shared::Shared;

impl Shared {
    /// Ends all workers and waits for their threads.
    ///
    /// It does not wait for the calling thread if that is one of the workers, and not for any of them if they may be
    /// waiting for the calling thread: then the workers end by themselves, and the last one finishes the hive.
    pub(crate) fn shut_down(&self) {
        if self.is_forked() {
            return;
        }
        self.watchdog.stop();
        self.team.terminate_all();
        self.thread_hosts.clear();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread that is not one of the hive's workers joins them, unless that would close a cycle of waits between
        // hives.
        if !self.wait_node.is_current_hive() {
            self.wait_node.unless_deadlock(|| join_all_but_current(threads));
        } else if !self.has_guest() {
            // One of the hive's own workers joins the others. They cannot be waiting for it, since everything that
            // they wait for borrows the hive; a guest's jobs are the exception, hence the condition.
            join_all_but_current(threads);
            // Run now and not at the end of the calling worker's thread: the code that this worker is in the middle of
            // may be waiting for one of these tasks.
            self.team.run_leftover_tasks();
        }
        self.release_owner();
    }

    /// Whether a guest library, rayon, runs jobs of its own on the workers. Such jobs do not borrow the hive, so
    /// workers may be waiting for one another in them while the hive is dropped.
    fn has_guest(&self) -> bool {
        self.config.guest.is_some()
    }

    /// Gives up one owner of the hive. The last owner runs the tasks that are still queued and writes the timeline.
    pub(crate) fn release_owner(&self) {
        // AcqRel: pairs with itself in the other owners. The last owner has seen everything that the others did before
        // they gave up theirs.
        if self.live_owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.team.run_leftover_tasks();
            self.write_final_trace();
        }
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

/// Joins these threads, except the calling one.
fn join_all_but_current(threads: Vec<JoinHandle<()>>) {
    let current = thread::current().id();
    let others = threads.into_iter().filter(|thread| thread.thread().id() != current);
    others.for_each(|thread| thread.join().expect("a bee catches the panics of what it runs"));
}
