//! The end of a hive: its handle ends the workers and waits for their threads as far as that is safe, and the last
//! owner runs the tasks that are left and writes the timeline. This file also starts what watches a hive until then,
//! the watchdog, and writes the timeline for a program that asks for it. The watchdog and the tracer are in
//! `hive/observe/` and know no hive; what they need of one they get from here.
//!
//! `docs/waits-between-hives.md` says why the waits in this file cannot form a cycle.

use std::io;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, PoisonError, Weak};
use std::thread::JoinHandle;

use crate::observe::trace::Tracer;
use crate::pool::handle::Hive;
use crate::pool::shared::Shared;
use crate::protocol::tasks::task_context::TaskContext;
use crate::region::nesting;
use crate::sys::presence::while_off_core;
use crate::sys::process::ProcessLock;
use crate::sys::stderr::write_message;

impl Hive {
    /// Writes the timeline of a traced hive (see [`Builder::trace`](crate::Builder::trace)) up to this moment, and
    /// returns the file's name. The whole timeline is written again when the hive is dropped or the process ends.
    ///
    /// May be called at any time, by any thread. The bees go on meanwhile; in the file, everything that they are in the
    /// middle of ends at the moment of writing.
    ///
    /// ```
    /// let error = hive::Hive::new(1)?.write_trace().unwrap_err();
    /// assert!(error.to_string().contains("this hive is not traced"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the hive is not traced, if the file cannot be written, or in a forked child.
    pub fn write_trace(&self) -> io::Result<PathBuf> {
        let tracer = self.shared.tracer.as_ref().ok_or_else(|| io::Error::other(NOT_TRACED_MESSAGE))?;
        if self.shared.is_forked() {
            return Err(io::Error::other("this process is a forked child: the trace is its parent's"));
        }
        self.shared.write_with(tracer)?;
        Ok(tracer.path.clone())
    }
}

impl Shared {
    /// Starts the watchdog, and registers the timeline to be written when the process ends, as far as the configuration
    /// asks for them. Neither keeps a hive alive that nobody uses any more, since each has a weak reference only.
    pub(crate) fn start_observers(self: &Arc<Self>) -> io::Result<()> {
        if self.tracer.is_some() {
            write_at_exit(Arc::downgrade(self));
        }
        let Some(limit) = self.config.asked.watchdog_limit else { return Ok(()) };
        let watched = Arc::downgrade(self);
        let take_snapshot = move || watched.upgrade().map(|shared| shared.team.snapshot());
        self.watchdog.start(&self.config.thread_name, limit, take_snapshot)
    }

    fn write_with(&self, tracer: &Tracer) -> io::Result<()> {
        tracer.write(&self.config.thread_name, || (self.team.logs().collect(), self.team.sizes()))
    }

    /// Ends all workers and waits for their threads.
    ///
    /// It waits for none of them if they may be waiting for the calling thread, directly or over other hives, and never
    /// if the calling thread is one of them. Then the workers end by themselves, and the last one finishes the hive.
    pub(crate) fn shut_down(&self) {
        if self.is_forked() {
            return;
        }
        // Relaxed: a hint, for calls of free functions in tasks that still run.
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

    /// Counts a keeper of a task pool as gone, and ends the pool if it was the last; in a hive it does nothing. An exit
    /// handler of a pool that has ended may spawn a job, which is a last keeper once more: then nothing is left to end.
    pub(crate) fn release_keeper(&self) {
        let Some(task_pool) = &self.task_pool else { return };
        // The threads of a forked child's pools are its parent's.
        if self.is_forked() || !task_pool.release_keeper() {
            return;
        }
        // Relaxed: only one thread finds false.
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            // SeqCst: pairs with the fence in `run_bee` (`adapters/task_pool/thread.rs`).
            fence(Ordering::SeqCst);
            self.team.terminate_all();
            self.release_owner();
        }
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

    /// Writes the trace when the hive or the process ends, if the hive is traced. An error goes to standard error,
    /// because no caller is left to return it to.
    fn write_final_trace(&self) {
        let Some(tracer) = self.tracer.as_ref().filter(|_| !self.is_forked()) else { return };
        if let Err(error) = self.write_with(tracer) {
            let (name, file) = (&self.config.thread_name, tracer.path.display());
            write_message(&format!("{name}: the trace {file} cannot be written: {error}\n"));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_forked() {
            // The threads belong to the parent process. Dropping a handle would detach a thread by an id that another
            // thread may have by now; see `Watchdog::forget_thread`.
            std::mem::forget(std::mem::take(self.threads.get_mut().unwrap_or_else(PoisonError::into_inner)));
            self.watchdog.forget_thread();
        }
    }
}

/// The hives whose timeline is to be written when the process ends, and whether the exit handler that does so has been
/// registered. A `ProcessLock`, so that a forked child does not find it locked.
static LIVE_TRACED: ProcessLock<(Vec<Weak<Shared>>, bool)> = ProcessLock::new((Vec::new(), false));

/// Arranges that a hive's timeline is written when the process ends, if the hive still exists then.
fn write_at_exit(hive: Weak<Shared>) {
    extern "C" fn write_all() {
        // Unwinding must not leave a C function. If there is a panic, its message has been printed.
        let _ = catch_unwind(|| {
            // The list is taken out: no file is written under a `ProcessLock`, since forks wait for it. (A forked
            // child, which has this handler as well, writes nothing: see `write_final_trace`.)
            let live = LIVE_TRACED.with(|(live, _)| std::mem::take(live));
            live.iter().filter_map(Weak::upgrade).for_each(|hive| hive.write_final_trace());
        });
    }

    let status = LIVE_TRACED.with(|(live, has_exit_handler)| {
        add(live, hive);
        #[expect(unsafe_code, reason = "atexit takes a C function")]
        // SAFETY: the function does not unwind, and what it uses, a static, is never dropped.
        let register = || unsafe { libc::atexit(write_all) };
        // One handler writes the timelines of all hives, so it is registered only once.
        if std::mem::replace(has_exit_handler, true) { 0 } else { register() }
    });
    if status != 0 {
        write_message("hive: no room for another exit handler; only hives that are dropped write their traces\n");
    }
}

/// Adds a hive to those that may still exist, and removes those that are gone.
fn add<H>(live: &mut Vec<Weak<H>>, hive: Weak<H>) {
    live.retain(|hive| hive.strong_count() > 0);
    live.push(hive);
}

/// Joins these threads, none of which is the calling one. That one may be a worker of another hive.
fn join_all(threads: Vec<JoinHandle<()>>) {
    let join = |thread: JoinHandle<()>| thread.join().expect("a bee catches the panics of what it runs");
    while_off_core(|| threads.into_iter().for_each(join));
}

const NOT_TRACED_MESSAGE: &str = "this hive is not traced: ask for that with Hive::builder().trace(FILE) or \
                                  HIVE_TRACE=FILE; its report says whether the file could be made";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_hives_are_removed_from_the_list() {
        let (alive, mut live) = (Arc::new(()), Vec::new());
        add(&mut live, Arc::downgrade(&alive));
        (0..1_000).for_each(|_| add(&mut live, Weak::new()));
        assert!(live.len() < 32, "{}", live.len());
        assert_eq!(live.iter().filter_map(Weak::upgrade).count(), 1);
    }
}
