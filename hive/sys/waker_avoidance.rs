//! Lets a worker that is not bound to one CPU sleep without the CPU of the thread that wakes it for loops.
//!
//! The kernel may queue such a worker behind that thread, which goes on there with a part of the loop: it prefers the
//! CPU on which a thread has run last, and the one of its waker. A virtual CPU that sleeps does not look idle to it.
//! Then the worker comes when the loop has ended, and, left alone, it is put there again and again.
//!
//! The worker has its own mask back before it runs anything. If its mask has been changed from outside while it slept,
//! the changed one stays. (Two changes are not seen as such: one to the very mask that the worker sleeps with, which is
//! undone; and a cpuset that has shrunk meanwhile, after which the worker goes on without the CPU that it avoided.)

use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::wait::WaitPolicy;

/// What one worker does about its waker's CPU.
#[derive(Default)]
pub(crate) struct WakerAvoidance {
    /// Whether it avoids that CPU while it sleeps.
    is_on: bool,
    /// Whether it has come too late all the same, on its waker's CPU, since it avoids the one of the waker before.
    has_failed: bool,
}

impl WakerAvoidance {
    /// Says that the worker has been woken for a loop and has come too late. `was_there`: on the CPU of its waker.
    pub(crate) fn note_late_arrival(&mut self, was_there: bool) {
        if was_there {
            // Another thread has woken it, or the same from another CPU. If that happens twice, to guess the CPU is of
            // no use, and the kernel may as well choose.
            let helps = !self.has_failed;
            self.has_failed = self.is_on && helps;
            self.is_on = helps;
        }
    }

    /// Says that the worker is needed for something else than loops.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.is_on = false;
    }

    /// Called when the worker is about to sleep. The result is to be dropped when it wakes up.
    pub(crate) fn begin_sleep(&mut self, policy: &WaitPolicy) -> Option<AvoidedCpu> {
        if !self.is_on {
            return None;
        }
        let avoided = policy.wakers_cpu().and_then(AvoidedCpu::new);
        // Where the system refuses it, it is not tried each time.
        self.is_on = avoided.is_some();
        avoided
    }
}

/// The calling thread's mask lacks a CPU until this is dropped, on the same thread.
pub(crate) struct AvoidedCpu {
    full: CpuMask,
    reduced: CpuMask,
}

impl AvoidedCpu {
    /// Takes `cpu` from the mask of the calling thread. None: it is not in the mask, or there would be none left, or
    /// the system refuses it.
    #[cold]
    fn new(cpu: usize) -> Option<Self> {
        let full = affinity::query().ok()?;
        let reduced = full.difference(&CpuMask::from_iter([cpu]));
        if reduced == full || reduced.is_empty() || affinity::apply(&reduced).is_err() {
            return None;
        }
        Some(Self { full, reduced })
    }
}

impl Drop for AvoidedCpu {
    fn drop(&mut self) {
        if affinity::query().is_ok_and(|mask| mask == self.reduced) {
            // This fails only if the system has taken these CPUs away, and then it has chosen others itself.
            let _ = affinity::apply(&self.full);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;

    /// Runs `test` on a thread of its own, with its mask and one of the CPUs in it. Not where there is only one CPU.
    fn on_a_thread(test: impl FnOnce(CpuMask, usize) + Send) {
        let run = || {
            let all = affinity::query().unwrap();
            let last = all.last().unwrap();
            if all.len() > 1 {
                test(all, last);
            }
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap());
    }

    #[test]
    fn a_cpu_is_avoided_for_a_while() {
        on_a_thread(|all, last| {
            let avoided = AvoidedCpu::new(last).unwrap();
            assert_eq!(affinity::query().unwrap(), all.difference(&CpuMask::from_iter([last])));
            assert_ne!(affinity::current_cpu(), Some(last));
            assert!(AvoidedCpu::new(last).is_none(), "it is avoided");
            drop(avoided);
            assert_eq!(affinity::query().unwrap(), all);
        });
    }

    #[test]
    fn a_thread_that_may_run_nowhere_else_stays() {
        on_a_thread(|_, last| {
            let one = CpuMask::from_iter([last]);
            affinity::apply(&one).unwrap();
            assert!(AvoidedCpu::new(last).is_none());
            assert_eq!(affinity::query().unwrap(), one);
        });
    }

    #[test]
    fn a_mask_that_somebody_else_has_set_stays() {
        on_a_thread(|_, last| {
            let avoided = AvoidedCpu::new(last).unwrap();
            let one = CpuMask::from_iter([last]);
            affinity::apply(&one).unwrap();
            drop(avoided);
            assert_eq!(affinity::query().unwrap(), one);
        });
    }

    #[test]
    fn a_worker_avoids_its_waker_until_that_fails_twice_or_it_is_needed_otherwise() {
        let mut avoidance = WakerAvoidance::default();
        let mut after = |was_there| {
            avoidance.note_late_arrival(was_there);
            avoidance.is_on
        };
        assert_eq!([false, true, false, true, true, true].map(&mut after), [false, true, true, true, false, true]);
        avoidance.end();
        assert!(!avoidance.is_on);
        let policy = WaitPolicy::new(std::time::Duration::ZERO, None, 1, CpuMask::new());
        avoidance.note_late_arrival(true);
        assert!(avoidance.begin_sleep(&policy).is_none(), "nobody has woken it");
        assert!(!avoidance.is_on);
    }
}
