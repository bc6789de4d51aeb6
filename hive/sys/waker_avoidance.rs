//! Lets a worker that is not bound to one CPU sleep without the CPU of the thread that wakes it for loops.
//!
//! The kernel may queue such a worker behind that thread, which goes on there with a part of the loop: it prefers the
//! CPU on which a thread has run last, and the one of its waker. A virtual CPU that sleeps does not look idle to it.
//! Then the worker comes when the loop has ended, and, left alone, it is put there again and again.
//!
//! The worker has its own mask back before it runs anything. If its mask has been changed from outside while it slept,
//! the changed one stays, and the worker avoids no CPU any more. (A change to the very mask that it sleeps with is not
//! seen as one, and undone. So is a change in the moment between a look at the mask and the call that sets it.)

use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::wait::WaitPolicy;

/// After so many late arrivals in a row a worker stops avoiding its waker's CPU, which it does from the first one on:
/// the waker changes, or moves about, so that to guess its CPU is of no use.
const FAILURES: u8 = 3;

/// What one worker does about its waker's CPU.
#[derive(Default)]
pub(crate) struct WakerAvoidance {
    /// How often it has been woken for a loop and has come too late, on its waker's CPU, since it was needed for
    /// anything else. From 0 to `FAILURES - 1`. A region that is no loop, or a task, sets it back to 0: with fewer CPUs
    /// to choose from the worker may have to wait for another program, and there nobody would stand in for it.
    late_arrivals: u8,
    /// The masks of a sleep that has begun, or after which the worker could not get its own back.
    masks: Option<Masks>,
}

struct Masks {
    /// The worker's own.
    full: CpuMask,
    /// The same without the CPU that it avoids.
    reduced: CpuMask,
}

impl WakerAvoidance {
    /// Says that the worker has been woken for a loop and has come too late. `was_there`: on the CPU of its waker.
    pub(crate) fn note_late_arrival(&mut self, was_there: bool) {
        if was_there {
            self.late_arrivals = (self.late_arrivals + 1) % FAILURES;
        }
    }

    /// Says that the worker is needed for something else than loops.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.late_arrivals = 0;
    }

    /// Called when the worker is about to sleep.
    #[inline]
    pub(crate) fn begin_sleep(&mut self, policy: &WaitPolicy) {
        if self.late_arrivals > 0 && self.masks.is_none() {
            self.avoid(policy);
        }
    }

    /// Called when it has slept.
    #[inline]
    pub(crate) fn end_sleep(&mut self) {
        self.masks = self.masks.take().filter(|masks| !masks.give_back());
    }

    /// Takes the waker's CPU from the mask of the calling worker. Not if it is not in it, or none would be left.
    #[cold]
    fn avoid(&mut self, policy: &WaitPolicy) {
        let masks = policy.wakers_cpu().and_then(Masks::without);
        if let Some(masks) = masks.filter(|masks| affinity::apply(&masks.reduced).is_ok()) {
            self.masks = Some(masks);
        } else {
            // Where the system refuses it, it is not tried each time.
            self.end();
        }
    }
}

impl Masks {
    /// Those of the calling thread, which is to avoid `cpu`. None: there is nothing to avoid, or no other CPU.
    fn without(cpu: usize) -> Option<Self> {
        let full = affinity::query().ok()?;
        let reduced = full.difference(&CpuMask::from_iter([cpu]));
        (reduced != full && !reduced.is_empty()).then_some(Self { full, reduced })
    }

    /// Gives the calling worker its own mask back. Returns whether it has it. If its mask is neither of the two,
    /// somebody else has set it, or the CPUs of the process have changed. Then it stays, and is looked at again after
    /// the next sleep: a cpuset that gets its CPUs back brings the reduced mask back.
    #[cold]
    fn give_back(&self) -> bool {
        let now = affinity::query().ok();
        now.as_ref() == Some(&self.full) || now.as_ref() == Some(&self.reduced) && affinity::apply(&self.full).is_ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Runs `test` on a thread of its own, which has come too late, with the policy of a hive whose workers are not
    /// bound and which was woken on a CPU, and with the masks of the thread with and without it. Not where there is
    /// only one CPU.
    fn on_a_late_thread(test: impl FnOnce(&mut WakerAvoidance, &WaitPolicy, CpuMask, CpuMask) + Send) {
        let run = || {
            let all = affinity::query().unwrap();
            if all.len() == 1 {
                return;
            }
            let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
            policy.note_waker();
            let Masks { full, reduced } = Masks::without(policy.wakers_cpu().unwrap()).unwrap();
            assert_eq!(full, all);
            let mut avoidance = WakerAvoidance::default();
            avoidance.note_late_arrival(true);
            test(&mut avoidance, &policy, full, reduced);
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap());
    }

    #[test]
    fn a_worker_that_was_late_sleeps_without_its_wakers_cpu() {
        on_a_late_thread(|avoidance, policy, full, reduced| {
            avoidance.begin_sleep(policy);
            assert_eq!(affinity::query().unwrap(), reduced);
            assert_ne!(affinity::current_cpu(), policy.wakers_cpu());
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), full);
            avoidance.end();
            avoidance.begin_sleep(policy);
            assert_eq!(affinity::query().unwrap(), full);
        });
    }

    #[test]
    fn it_does_so_from_the_first_late_arrival_to_the_third() {
        let mut avoidance = WakerAvoidance::default();
        let mut after = |was_there| {
            avoidance.note_late_arrival(was_there);
            avoidance.late_arrivals > 0
        };
        let arrivals = [false, true, false, true, true, false, true];
        assert_eq!(arrivals.map(&mut after), [false, true, true, true, false, false, true]);
    }

    #[test]
    fn a_worker_that_may_run_nowhere_else_keeps_its_mask() {
        on_a_late_thread(|avoidance, policy, full, _| {
            let one = CpuMask::from_iter(policy.wakers_cpu());
            affinity::apply(&one).unwrap();
            avoidance.begin_sleep(policy);
            assert_eq!(affinity::query().unwrap(), one);
            affinity::apply(&full).unwrap();
            avoidance.begin_sleep(policy);
            assert_eq!(affinity::query().unwrap(), full, "it does not try again");
        });
    }

    #[test]
    fn a_mask_that_somebody_else_has_set_stays() {
        on_a_late_thread(|avoidance, policy, full, reduced| {
            avoidance.begin_sleep(policy);
            let one = CpuMask::from_iter(policy.wakers_cpu());
            affinity::apply(&one).unwrap();
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), one);
            avoidance.begin_sleep(policy);
            assert_eq!(affinity::query().unwrap(), one);
            // As when a cpuset gets its CPUs back.
            affinity::apply(&reduced).unwrap();
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), full);
        });
    }
}
