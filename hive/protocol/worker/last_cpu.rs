//! On which CPU a bee was last woken for a task, in a hive whose workers are bound to no CPU.
//!
//! The kernel may put a bee that is woken for a task on the CPU of the thread that wakes it, although another one is
//! free: a virtual CPU that sleeps does not look idle to it. If it lets the bee run there at once, the waker, which has
//! work of its own, is interrupted; so the bee gives way to it. If the bee then, or from the first, has to wait until
//! the waker's work has ended, it sleeps elsewhere the next time (`sys/waker_avoidance.rs`). By these numbers a bee
//! sees whether it is on its waker's CPU.

use crate::sync::{AtomicU32, Ordering};

/// Where a bee was when it had last been woken for a task, and who had woken it.
#[derive(Default)]
pub(crate) struct LastCpu {
    /// The CPU, plus one. 0: not known.
    cpu: AtomicU32,
    /// A `TaskWake`: twice the waker's number, plus `is_on_wakers_cpu`, plus one. 0: none, or it has been taken.
    wake: AtomicU32,
}

/// How a bee was woken for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskWake {
    /// The bee that has woken it, or in whose name a thread from outside has.
    pub(crate) waker: u32,
    /// Whether the kernel has put the woken bee on the CPU of that one, as far as it is known.
    pub(crate) is_on_wakers_cpu: bool,
}

impl LastCpu {
    /// Notes that the bee, which calls this, has woken up on `cpu` by `wake`.
    pub(crate) fn note(&self, cpu: usize, wake: TaskWake) {
        // Relaxed, all here: the CPU is a hint, since the bee may have been moved, and only the bee itself asks for the
        // wake.
        self.cpu.store(cpu as u32 + 1, Ordering::Relaxed);
        self.wake.store(2 * wake.waker + u32::from(wake.is_on_wakers_cpu) + 1, Ordering::Relaxed);
    }

    /// The number of the CPU.
    pub(crate) fn get(&self) -> Option<usize> {
        self.cpu.load(Ordering::Relaxed).checked_sub(1).map(|cpu| cpu as usize)
    }

    /// How the bee, which calls this, was woken. None if it has not been woken for a task since the last call.
    pub(crate) fn take_wake(&self) -> Option<TaskWake> {
        let wake = self.wake.load(Ordering::Relaxed).checked_sub(1)?;
        self.wake.store(0, Ordering::Relaxed);
        Some(TaskWake { waker: wake / 2, is_on_wakers_cpu: wake % 2 == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wake_counts_and_is_taken_once() {
        let last_cpu = LastCpu::default();
        assert_eq!((last_cpu.get(), last_cpu.take_wake()), (None, None));
        let wakes = [(4, false), (0, true)].map(|(waker, is_on_wakers_cpu)| TaskWake { waker, is_on_wakers_cpu });
        last_cpu.note(3, wakes[0]);
        last_cpu.note(0, wakes[1]);
        assert_eq!((last_cpu.get(), last_cpu.take_wake()), (Some(0), Some(wakes[1])));
        assert_eq!((last_cpu.get(), last_cpu.take_wake()), (Some(0), None));
    }
}
