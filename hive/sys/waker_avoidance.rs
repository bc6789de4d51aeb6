//! Lets a worker that is not bound to one CPU sleep without the CPU of the thread that wakes it.
//!
//! The kernel may queue such a worker behind that thread, which goes on there with work of its own: it prefers the
//! CPU on which a thread has run last, and the one of its waker. A virtual CPU that sleeps does not look idle to it.
//! Then the worker comes when that work has ended, and, left alone, it is put there again and again.
//!
//! For a loop the worker sees that from having come too late. A task that it was woken for may have been taken by
//! another bee, so there it looks at how long ago it was woken. Nor does it pay to avoid the waker's CPU if the waker
//! ends all its work before the worker could have come to another one.
//!
//! The worker has its own mask back before it runs anything. If its mask has been changed from outside while it slept,
//! the changed one stays, and the worker avoids no CPU until its mask is one of the two again. (A change to the very
//! mask that it sleeps with is not seen as one, and undone. So is a change in the moment between a look at the mask and
//! the call that sets it.)

use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::part_time::NANOS_OF_WAKING;
use crate::sys::ticks::Moment;
use crate::sys::wait::WaitPolicy;

/// After so many late arrivals on its waker's CPU, with no task and no region but loops between them, a worker stops
/// avoiding that CPU, which it does from the first one on: the waker changes, or moves about, so that to guess its CPU
/// is of no use.
const FAILURES: u8 = 3;

/// A worker that comes so long after it was woken, on its waker's CPU, would have come much sooner to another one, and
/// would probably have found a task there.
const LONG_DELAY: u64 = 4 * NANOS_OF_WAKING;

/// At the next wake after so many in a row for which it has run no task, it stops avoiding its waker's CPU.
const VAIN_WAKES: u8 = 3;

/// What one worker does about its waker's CPU.
#[derive(Default)]
pub(crate) struct WakerAvoidance {
    /// How often it has been woken for a loop and has come too late, on its waker's CPU, since it was needed for
    /// anything else. From 0 to `FAILURES - 1`. A region that is no loop, or a task, sets it back to 0: with fewer CPUs
    /// to choose from the worker may have to wait for another program, and there nobody would stand in for it.
    late_arrivals: u8,
    /// Whether it avoids the CPU of the bee that wakes it for tasks. That bee runs them itself if this one is late.
    avoids_for_tasks: bool,
    /// How often in a row it has been woken for a task since then, and has run none.
    vain_wakes: u8,
    /// When the present or last sleep began, if that is to tell whether the worker is late at its end.
    asleep_since: Option<Moment>,
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

    /// Says that the worker is needed for a region that is no loop.
    #[inline]
    pub(crate) fn note_region(&mut self) {
        self.late_arrivals = 0;
    }

    /// Says that the worker, which was away, is needed for a region, in which perhaps nobody stands in for it.
    #[inline]
    pub(crate) fn note_start(&mut self) {
        self.avoids_for_tasks = false;
    }

    /// Says that the worker is about to run a task.
    #[inline]
    pub(crate) fn note_task(&mut self) {
        self.late_arrivals = 0;
        self.vain_wakes = 0;
    }

    /// Whether the worker, which was woken when the counter was at `woken_at` (`ticks.rs`), is late. Where that is
    /// not known it is taken for late.
    pub(crate) fn is_late(&self, woken_at: u64) -> bool {
        self.delay(woken_at).is_none_or(|delay| delay >= LONG_DELAY)
    }

    /// How long ago that was, in nanoseconds. None: not known.
    fn delay(&self, woken_at: u64) -> Option<u64> {
        self.asleep_since.and_then(|begin| begin.nanos_since(woken_at))
    }

    /// Says that the worker has been woken for a task, when the counter was at `woken_at`, and has given way to its
    /// waker if it was to. `was_there`: on the CPU of its waker.
    #[inline]
    pub(crate) fn note_task_wake(&mut self, was_there: bool, woken_at: u64) {
        if self.avoids_for_tasks {
            self.vain_wakes += 1;
            self.avoids_for_tasks = self.vain_wakes <= VAIN_WAKES;
        } else if was_there {
            self.learn_from_delay(self.delay(woken_at));
        }
    }

    /// The same for a worker that was on the CPU of its waker, so many nanoseconds after it was woken. None: not known.
    fn learn_from_delay(&mut self, delay: Option<u64>) {
        self.vain_wakes = 0;
        self.avoids_for_tasks = delay.is_some_and(|delay| delay >= LONG_DELAY);
    }

    /// Called when the worker is about to sleep. `task_wakers_cpu`: where the bee is that has last woken it for a task,
    /// as far as it is known.
    #[inline]
    pub(crate) fn begin_sleep(&mut self, policy: &WaitPolicy, task_wakers_cpu: Option<usize>) {
        self.asleep_since = None;
        // The workers of a task pool sleep between tasks only; others may never be woken for one.
        let may_be_woken_for_task = policy.has_no_queen || task_wakers_cpu.is_some();
        if self.masks.is_none() && (self.late_arrivals > 0 || may_be_woken_for_task) {
            self.begin_sleep_after(policy.wakers_cpu(), task_wakers_cpu);
        }
    }

    #[cold]
    fn begin_sleep_after(&mut self, loop_wakers_cpu: Option<usize>, task_wakers_cpu: Option<usize>) {
        if self.late_arrivals > 0 {
            if !loop_wakers_cpu.is_some_and(|cpu| self.avoid(cpu)) {
                // The CPU cannot be avoided, so this is not tried again before the next late arrival.
                self.late_arrivals = 0;
            }
        } else if !self.avoids_for_tasks {
            self.asleep_since = Some(Moment::now());
        } else if let Some(cpu) = task_wakers_cpu {
            self.avoids_for_tasks = self.avoid(cpu);
        }
    }

    /// Called when it has slept.
    #[inline]
    pub(crate) fn end_sleep(&mut self) {
        self.masks = self.masks.take().filter(|masks| !masks.give_back());
    }

    /// Takes the waker's CPU from the mask of the calling worker. Returns whether it has done so: not if the CPU is not
    /// in it, none would be left, or the system refuses it.
    #[cold]
    fn avoid(&mut self, wakers_cpu: usize) -> bool {
        self.masks = Masks::without(wakers_cpu).filter(|masks| affinity::apply(&masks.reduced).is_ok());
        self.masks.is_some()
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
    use crate::sys::ticks::ticks;

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
            avoidance.begin_sleep(policy, None);
            assert_eq!(affinity::query().unwrap(), reduced);
            assert_ne!(affinity::current_cpu(), policy.wakers_cpu());
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), full);
            avoidance.note_region();
            avoidance.begin_sleep(policy, None);
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
            avoidance.begin_sleep(policy, None);
            assert_eq!(affinity::query().unwrap(), one);
            affinity::apply(&full).unwrap();
            avoidance.begin_sleep(policy, None);
            assert_eq!(affinity::query().unwrap(), full, "it does not try again");
        });
    }

    #[test]
    fn a_mask_that_somebody_else_has_set_stays() {
        on_a_late_thread(|avoidance, policy, full, reduced| {
            avoidance.begin_sleep(policy, None);
            let one = CpuMask::from_iter(policy.wakers_cpu());
            affinity::apply(&one).unwrap();
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), one);
            avoidance.begin_sleep(policy, None);
            assert_eq!(affinity::query().unwrap(), one);
            // As when a cpuset gets its CPUs back.
            affinity::apply(&reduced).unwrap();
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), full);
        });
    }

    #[test]
    fn one_that_comes_late_on_its_wakers_cpu_avoids_it_until_it_comes_in_vain() {
        let mut avoidance = WakerAvoidance::default();
        for delay in [None, Some(LONG_DELAY - 1)] {
            avoidance.learn_from_delay(delay);
            assert!(!avoidance.avoids_for_tasks);
        }
        avoidance.learn_from_delay(Some(LONG_DELAY));
        for _ in 0..3 * VAIN_WAKES {
            assert!(avoidance.avoids_for_tasks);
            avoidance.note_task_wake(true, 0);
            avoidance.note_task();
        }
        for _ in 0..=VAIN_WAKES {
            assert!(avoidance.avoids_for_tasks);
            avoidance.note_task_wake(false, 0);
        }
        assert!(!avoidance.avoids_for_tasks);
    }

    #[test]
    fn one_that_avoids_the_waker_of_its_tasks_sleeps_without_that_ones_cpu() {
        on_a_late_thread(|avoidance, policy, full, reduced| {
            // Of a task pool, whose workers learn from their first sleep on.
            let wakers_cpu = policy.wakers_cpu();
            let mut policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
            policy.has_no_queen = true;
            let policy = &policy;
            avoidance.note_region();
            avoidance.begin_sleep(policy, None);
            assert_eq!(affinity::query().unwrap(), full);
            avoidance.end_sleep();
            // It has slept for longer than it takes to count as late.
            assert!(avoidance.asleep_since.is_some());
            thread::sleep(Duration::from_nanos(2 * LONG_DELAY));
            assert!(avoidance.is_late(0));
            avoidance.note_task_wake(true, 0);
            assert_eq!(avoidance.avoids_for_tasks, ticks() > 0);
            avoidance.avoids_for_tasks = true;
            avoidance.begin_sleep(policy, None);
            assert_eq!(affinity::query().unwrap(), full, "the waker's CPU is not known");
            avoidance.begin_sleep(policy, wakers_cpu);
            assert_eq!(affinity::query().unwrap(), reduced);
            avoidance.end_sleep();
            assert_eq!(affinity::query().unwrap(), full);
            avoidance.note_start();
            avoidance.begin_sleep(policy, wakers_cpu);
            assert_eq!(affinity::query().unwrap(), full, "nobody stands in for it in a region");
        });
    }
}
