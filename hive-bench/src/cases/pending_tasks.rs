//! A counter at which the measuring thread waits for tasks that no runtime waits for.

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How many tasks have yet to end, and which thread waits for them.
pub(crate) struct PendingTasks {
    missing: AtomicU64,
    waiting: Thread,
}

impl PendingTasks {
    /// How long the thread polls before it sleeps, to leave its CPU to a worker that may be bound to the same one.
    const POLL: Duration = Duration::from_micros(30);

    /// A counter at which the calling thread waits. It is leaked, because a task that nobody waits for may borrow only
    /// what lives for ever.
    pub(crate) fn of_this_thread() -> &'static Self {
        Box::leak(Box::new(Self { missing: AtomicU64::new(0), waiting: thread::current() }))
    }

    /// Sets the number of tasks. To be called before they are spawned, while none is under way.
    pub(crate) fn expect(&self, tasks: u64) {
        // Relaxed: the spawn orders it before the tasks.
        self.missing.store(tasks, Ordering::Relaxed);
    }

    /// Counts a task that has ended: the last thing that the task does.
    pub(crate) fn count(&self) {
        // Release: pairs with the Acquire in `has_all`.
        if self.missing.fetch_sub(1, Ordering::Release) == 1 {
            self.waiting.unpark();
        }
    }

    /// Waits until as many tasks have ended as were expected.
    pub(crate) fn wait(&self) {
        let begin = Instant::now();
        while !self.has_all() {
            if begin.elapsed() < Self::POLL {
                hint::spin_loop();
            } else {
                thread::park();
            }
        }
    }

    fn has_all(&self) -> bool {
        // Acquire: pairs with the Release in `count`.
        self.missing.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_waited_for() {
        let pending = PendingTasks::of_this_thread();
        for _ in 0..3 {
            pending.expect(4);
            (0..4).for_each(|_| drop(thread::spawn(move || pending.count())));
            pending.wait();
            assert!(pending.has_all());
        }
    }
}
