//! How the thread of a worker is bound. A worker that is bound to a CPU may sleep unbound: a CPU that has been idle may
//! take long to come back, above all a virtual one, and a worker that is bound to it has to wait for that. One that is
//! not bound can run at once where the thread that wakes it is about to wait. When that pays, and who binds the worker
//! again, is in `docs/unbound-sleep.md`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use crate::sys::affinity::OtherThread;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::wait::WaitPolicy;

/// How the thread of one worker is bound at present.
#[derive(Default)]
pub(crate) struct SleepBinding {
    /// What the worker changes between. Empty: hive has not bound it.
    masks: OnceLock<Masks>,
    /// Whether the thread is unbound. The worker sets this before it sleeps. The thread that wakes it, or a shrink that
    /// parks it, may bind it again and clear this; a shrink may be late with that, when the worker is awake again.
    is_unbound: AtomicBool,
    /// The mask that it has then.
    unbound: Mutex<CpuMask>,
    /// Whether it is unbound because it has left its CPU to a thread that waits for it.
    has_left: AtomicBool,
}

/// The two masks of a thread.
struct Masks {
    thread: OtherThread,
    bound: CpuMask,
    /// The same as `bound` if the worker keeps its binding while it sleeps.
    unbound: CpuMask,
}

impl SleepBinding {
    /// Notes that the calling thread is bound to `bound`, and may sleep with the mask `unbound`, which has these
    /// CPUs and may have more.
    pub(crate) fn begin(&self, bound: CpuMask, unbound: CpuMask) {
        if let Some(thread) = OtherThread::current() {
            // Called once, by the worker when it starts.
            let _ = self.masks.set(Masks { thread, bound, unbound });
        }
    }

    /// The masks of a worker that may sleep unbound.
    fn changing_masks(&self) -> Option<&Masks> {
        self.masks.get().filter(|masks| masks.bound != masks.unbound)
    }

    /// Whether the worker may sleep unbound.
    pub(crate) fn is_allowed(&self) -> bool {
        self.changing_masks().is_some()
    }

    /// The thread's mask, if it is none that hive has given to it: if somebody else has changed it since. Makes system
    /// calls. The thread must not have ended.
    pub(crate) fn mask_of_others(&self) -> Option<CpuMask> {
        let masks = self.masks.get()?;
        let look = || {
            let given = if self.is_unbound() { self.unbound().clone() } else { masks.bound.clone() };
            let mask = masks.thread.mask().ok()?;
            (mask != given).then_some(mask)
        };
        // The second look is for a worker that was about to change between its masks at the first one.
        look()?;
        thread::yield_now();
        look()
    }

    /// The CPUs that the worker is bound to, or would be. None: hive has not bound it.
    pub(crate) fn bound(&self) -> Option<&CpuMask> {
        self.masks.get().map(|masks| &masks.bound)
    }

    /// Whether the worker is unbound because it has left its CPU to a thread that waits for it. Then it is not to be
    /// expected on that thread's CPU.
    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Relaxed)
    }

    /// Whether the thread is unbound.
    pub(crate) fn is_unbound(&self) -> bool {
        // Relaxed, here and below: what the worker has written before it sleeps is handed on by the change of its
        // state, and what its waker has written by the post of its semaphore.
        self.is_unbound.load(Ordering::Relaxed)
    }

    fn unbound(&self) -> MutexGuard<'_, CpuMask> {
        self.unbound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unbinds the calling worker, which is about to sleep. Returns whether it has done so: not if the worker is
    /// unbound already, may not be, or has another mask than the one that hive has given to it.
    #[cold]
    pub(crate) fn unbind(&self) -> bool {
        self.changing_masks().is_some_and(|masks| self.unbind_to(masks, masks.unbound.clone()))
    }

    /// Moves the calling worker, which is bound to `cpu`, to other CPUs, as the waits of its hive go by. Returns
    /// whether it has done so: as of [`unbind`](Self::unbind).
    #[cold]
    pub(crate) fn leave_cpu(&self, cpu: usize, policy: &WaitPolicy) -> bool {
        let Some(masks) = self.changing_masks() else { return false };
        let others = policy.other_cpus(&masks.unbound, cpu);
        let has_left = !others.is_empty() && self.unbind_to(masks, others.clone());
        if has_left {
            self.has_left.store(true, Ordering::Relaxed);
            policy.note_left_cpu(cpu, &others);
        }
        has_left
    }

    /// Changes the calling worker's mask from `masks.bound` to `to`, and notes that for `bind_again`. Returns whether
    /// it did: not if the worker is unbound already, or has another mask.
    fn unbind_to(&self, masks: &Masks, to: CpuMask) -> bool {
        let is_changed = !self.is_unbound() && matches!(masks.thread.change_mask(&masks.bound, &to), Ok(true));
        if is_changed {
            *self.unbound() = to;
            self.is_unbound.store(true, Ordering::Relaxed);
        }
        is_changed
    }

    /// Binds the worker's thread again, if it is unbound. Called by the worker itself, or by the thread that is about
    /// to end its sleep. Returns whether the thread was unbound. It stays so if the system refuses the call.
    ///
    /// If its mask has been changed from outside meanwhile, that mask stays.
    #[cold]
    pub(crate) fn bind_again(&self) -> bool {
        let Some(masks) = self.changing_masks() else { return false };
        // A swap, because a shrink and a grow after it may both come here for the same sleeper.
        if !self.is_unbound.swap(false, Ordering::Relaxed) {
            return false;
        }
        let is_refused = masks.thread.change_mask(&self.unbound(), &masks.bound).is_err();
        if is_refused {
            // The worker stays unbound, and the waits of the hive have to go on yielding to it. So it stays counted.
            self.is_unbound.store(true, Ordering::Relaxed);
        } else {
            self.has_left.store(false, Ordering::Relaxed);
        }
        !is_refused
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::sys::affinity;

    /// The mask of the calling thread, and one of its CPUs. None: it has only one.
    fn two_masks() -> Option<(CpuMask, CpuMask)> {
        let all = affinity::query().unwrap();
        let one = CpuMask::from_iter(all.last());
        (one != all).then_some((one, all))
    }

    /// Runs `test` on a thread of its own, which is bound to one CPU and may sleep unbound.
    fn on_bound_thread(test: impl FnOnce(&SleepBinding, CpuMask, CpuMask) + Send) {
        let Some((bound, unbound)) = two_masks() else { return };
        let run = move || {
            affinity::apply(&bound).unwrap();
            let binding = SleepBinding::default();
            binding.begin(bound.clone(), unbound.clone());
            test(&binding, bound, unbound);
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap());
    }

    #[test]
    fn a_thread_is_unbound_and_bound_again() {
        on_bound_thread(|binding, bound, unbound| {
            assert!(!binding.bind_again(), "it is bound");
            assert!(binding.unbind() && !binding.unbind());
            assert_eq!((binding.is_unbound(), affinity::query().unwrap()), (true, unbound));
            // By another thread, as a waker does it.
            thread::scope(|scope| scope.spawn(|| assert!(binding.bind_again())).join().unwrap());
            assert_eq!((binding.is_unbound(), affinity::query().unwrap()), (false, bound));
        });
    }

    #[test]
    fn what_others_have_made_of_a_mask_is_seen_from_another_thread() {
        on_bound_thread(|binding, bound, unbound| {
            let seen = || thread::scope(|scope| scope.spawn(|| binding.mask_of_others()).join().unwrap());
            assert_eq!(seen(), None);
            affinity::apply(&unbound).unwrap();
            assert_eq!(seen().as_ref(), Some(&unbound), "this mask is hive's only while the worker is unbound");
            affinity::apply(&bound).unwrap();
            assert!(binding.unbind());
            assert_eq!(seen(), None);
            affinity::apply(&bound).unwrap();
            assert_eq!(seen().as_ref(), Some(&bound));
        });
    }

    #[test]
    fn a_worker_whose_masks_are_the_same_keeps_its_binding() {
        on_bound_thread(|_, bound, _| {
            let binding = SleepBinding::default();
            binding.begin(bound.clone(), bound.clone());
            assert!(!binding.is_allowed() && !binding.unbind() && !binding.is_unbound());
            assert_eq!(binding.mask_of_others(), None);
        });
    }

    #[test]
    fn a_mask_that_somebody_else_has_set_stays() {
        on_bound_thread(|binding, bound, unbound| {
            affinity::apply(&unbound).unwrap();
            assert!(!binding.unbind(), "the thread is not bound as hive has bound it");
            affinity::apply(&bound).unwrap();
            assert!(binding.unbind());
            let first = CpuMask::from_iter(unbound.iter().next());
            affinity::apply(&first).unwrap();
            assert!(binding.bind_again());
            assert_eq!(affinity::query().unwrap(), first);
        });
    }

    #[test]
    fn without_leave_nothing_changes() {
        let binding = SleepBinding::default();
        assert!(!binding.unbind() && !binding.is_unbound() && !binding.bind_again());
    }
}
