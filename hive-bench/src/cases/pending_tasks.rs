//! A counter at which the measuring thread waits for tasks that no runtime waits for.

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::runtimes::tasks::Tasks;

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

    /// Spawns so many tasks from outside of the team, and waits until all have ended. To be called while none is under
    /// way.
    pub(crate) fn run<F>(&'static self, runtime: &mut impl Tasks, tasks: u64, task: F)
    where
        F: Fn() + Copy + Send + 'static,
    {
        // Relaxed: the spawn orders it before the tasks.
        self.missing.store(tasks, Ordering::Relaxed);
        for _ in 0..tasks {
            runtime.spawn_outside(move || {
                task();
                // Release: pairs with the Acquire below.
                if self.missing.fetch_sub(1, Ordering::Release) == 1 {
                    self.waiting.unpark();
                }
            });
        }
        let begin = Instant::now();
        // Acquire: pairs with the Release of each task that has ended.
        while self.missing.load(Ordering::Acquire) > 0 {
            if begin.elapsed() < Self::POLL {
                hint::spin_loop();
            } else {
                thread::park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new thread for each task.
    struct ThreadEach;

    impl Tasks for ThreadEach {
        fn spawn_outside<F: FnOnce() + Send + 'static>(&mut self, task: F) {
            drop(thread::spawn(task));
        }
    }

    #[test]
    fn all_are_waited_for() {
        let pending = PendingTasks::of_this_thread();
        for _ in 0..3 {
            pending.run(&mut ThreadEach, 4, || ());
            assert_eq!(pending.missing.load(Ordering::Relaxed), 0);
        }
    }
}
