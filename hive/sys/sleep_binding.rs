//! How the thread of a worker is bound. A worker that is bound to a CPU may sleep unbound: a CPU that has been idle may
//! take long to come back, above all a virtual one, and a worker that is bound to it has to wait for that. One that is
//! not bound can run at once where the thread that wakes it is about to wait. A worker that has lost its CPU to another
//! program may be brought to the CPU of a bee that waits for it. When that pays, and who binds the worker again, is in
//! `docs/unbound-sleep.md`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::sys::affinity::{self, CallError, OtherThread};
use crate::sys::clock;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::wait::WaitPolicy;

/// How the thread of one worker is bound at present.
#[derive(Default)]
pub(crate) struct SleepBinding {
    /// What hive changes between. Empty: it leaves the thread's mask alone.
    masks: OnceLock<Masks>,
    /// The mask that hive has given to the thread last.
    given: Mutex<Given>,
    /// Which of `UNBOUND`, `HAS_LEFT` and `IS_GUEST` hold. Changed under the lock of `given`.
    state: AtomicU32,
    /// How long the thread had been on a CPU when a thread that waits for it looked last, in nanoseconds.
    seen_cpu_time: AtomicU64,
    /// When that was, as `clock` has it.
    seen_at: AtomicU64,
}

/// The thread is unbound. The worker says so before it sleeps. The thread that wakes it, or a shrink that parks it, may
/// bind it again; a shrink may be late with that, when the worker is awake again.
const UNBOUND: u32 = 1;

/// It is, because it has left its CPU to a thread that waits for it.
const HAS_LEFT: u32 = 2;

/// A thread that waits for it has brought it to its own CPU.
const IS_GUEST: u32 = 4;

#[derive(Default)]
struct Given {
    mask: CpuMask,
    /// The mask to which a guest goes back.
    home: CpuMask,
}

/// The masks of a thread.
struct Masks {
    thread: OtherThread,
    bound: CpuMask,
    /// The CPUs on which it may sleep, and to which it may be moved. The same as `bound` if the worker keeps its
    /// binding.
    unbound: CpuMask,
}

impl SleepBinding {
    /// Notes that the calling thread is bound to `bound`, and may sleep with the mask `unbound`, which has these
    /// CPUs and may have more.
    pub(crate) fn begin(&self, bound: CpuMask, unbound: CpuMask) {
        if let Some(thread) = OtherThread::current() {
            self.given().mask = bound.clone();
            // Called once, by the worker when it starts.
            let _ = self.masks.set(Masks { thread, bound, unbound });
        }
    }

    /// The masks of a worker that may sleep unbound, and may be moved: the program has not chosen the CPUs that it is
    /// bound to.
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
        // Under the lock, so that nobody is about to change it.
        let given = self.given();
        masks.thread.mask().ok().filter(|mask| *mask != given.mask)
    }

    /// The CPUs that the worker is bound to, or would be. None: hive has not bound it.
    pub(crate) fn bound(&self) -> Option<&CpuMask> {
        Some(&self.masks.get()?.bound)
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> u32 {
        // Relaxed, here and below: what the worker has written before it sleeps is handed on by the change of its
        // state, and what its waker has written by the post of its semaphore.
        self.state.load(Ordering::Relaxed)
    }

    /// Whether the worker is unbound because it has left its CPU to a thread that waits for it. Then it is not to be
    /// expected on that thread's CPU.
    pub(crate) fn has_left(&self) -> bool {
        self.state() & HAS_LEFT != 0
    }

    /// Whether the thread is unbound.
    pub(crate) fn is_unbound(&self) -> bool {
        self.state() & UNBOUND != 0
    }

    /// Whether a thread that waits for the worker has brought it to its own CPU.
    pub(crate) fn is_guest(&self) -> bool {
        self.state() & IS_GUEST != 0
    }

    /// Whether the thread is where it is bound to, as far as hive knows.
    pub(crate) fn is_in_place(&self) -> bool {
        self.state() == 0
    }

    /// Unbinds the calling worker, which is about to sleep. Returns whether it has done so: not if the worker is
    /// unbound already, may not be, or has another mask than the one that hive has given to it.
    #[cold]
    pub(crate) fn unbind(&self) -> bool {
        self.changing_masks().is_some_and(|masks| self.unbind_to(masks, masks.unbound.clone(), UNBOUND))
    }

    /// Moves the calling worker, which is bound to `cpu`, to other CPUs, as the waits of its hive go by. Returns
    /// whether it has done so: as of [`unbind`](Self::unbind).
    #[cold]
    pub(crate) fn leave_cpu(&self, cpu: usize, policy: &WaitPolicy) -> bool {
        let Some(masks) = self.changing_masks() else { return false };
        let others = policy.other_cpus(&masks.unbound, cpu);
        let has_left = !others.is_empty() && self.unbind_to(masks, others.clone(), UNBOUND | HAS_LEFT);
        if has_left {
            policy.note_left_cpu(cpu, &others);
        }
        has_left
    }

    /// Changes the calling worker's mask to `to`, and notes that as `state`.
    fn unbind_to(&self, masks: &Masks, to: CpuMask, state: u32) -> bool {
        let mut given = self.given();
        let is_changed = self.is_in_place() && matches!(masks.change(&mut given.mask, to), Ok(true));
        if is_changed {
            self.state.store(state, Ordering::Relaxed);
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
        let mut given = self.given();
        // If the call is refused, the waits of the hive have to go on yielding to the worker. So it stays counted.
        let is_bound = self.is_unbound() && masks.restore(&mut given.mask, &masks.bound);
        if is_bound {
            given.home = masks.bound.clone();
            self.state.fetch_and(!(UNBOUND | HAS_LEFT), Ordering::Relaxed);
        }
        is_bound
    }

    /// For how long the thread has been on a CPU since the last call, by whichever thread, and how long ago that was.
    /// None: that cannot be known, or nobody may move the thread. The thread must not have ended.
    #[cold]
    pub(crate) fn ran_since_last_call(&self) -> Option<(Duration, Duration)> {
        let (ran, now) = (self.changing_masks()?.thread.cpu_time()?.as_nanos() as u64, clock::nanos());
        // Relaxed, both: numbers, which only this reads. If two threads call this at the very same time, one may get
        // numbers that do not belong together, and take the worker for one that stands still, or that does not.
        let since =
            |last: &AtomicU64, now: u64| Duration::from_nanos(now.saturating_sub(last.swap(now, Ordering::Relaxed)));
        Some((since(&self.seen_cpu_time, ran), since(&self.seen_at, now)))
    }

    /// Moves the thread, which has lost its CPU, to that of the caller, who waits for it as `policy` says. Returns
    /// whether it has done so. If the thread may not run there otherwise, it is a guest there, until
    /// [`end_visit`](Self::end_visit).
    #[cold]
    pub(crate) fn bring_here(&self, policy: &WaitPolicy) -> bool {
        let (Some(masks), Some(here)) = (self.changing_masks(), affinity::current_cpu()) else { return false };
        let (mut given, here) = (self.given(), CpuMask::from_iter([here]));
        if self.is_guest() || !here.is_subset(&masks.unbound) || given.mask == here {
            return false;
        }
        let (home, then) = (given.mask.clone(), given.mask.union(&here));
        // First to this CPU only, for the kernel to move it at once.
        let is_moved = matches!(masks.change(&mut given.mask, here), Ok(true));
        if is_moved && then != home {
            given.home = home;
            policy.count_unbound();
            self.state.fetch_or(IS_GUEST, Ordering::Relaxed);
        }
        if is_moved {
            // But it may go on wherever there is room. If the system refuses this, a guest goes back all the same.
            let _ = masks.change(&mut given.mask, then);
        }
        is_moved
    }

    /// Sends a guest back from the CPU that it was brought to, with the same `policy`. It stays if the system refuses
    /// the call.
    #[cold]
    pub(crate) fn end_visit(&self, policy: &WaitPolicy) {
        let Some(masks) = self.changing_masks() else { return };
        let mut given = self.given();
        let home = given.home.clone();
        if self.is_guest() && masks.restore(&mut given.mask, &home) {
            self.state.fetch_and(!IS_GUEST, Ordering::Relaxed);
            policy.uncount_unbound();
        }
    }
}

impl Masks {
    /// Changes the thread's mask from the one that hive has `given` to it. Returns whether it did: not if the thread
    /// has another mask.
    fn change(&self, given: &mut CpuMask, to: CpuMask) -> Result<bool, CallError> {
        let is_changed = self.thread.change_mask(given, &to)?;
        if is_changed {
            *given = to;
        }
        Ok(is_changed)
    }

    /// The same on the way back to `home`, which counts as given even if somebody else has changed the mask meanwhile,
    /// and that one stays. Returns whether the system has not refused the call.
    fn restore(&self, given: &mut CpuMask, home: &CpuMask) -> bool {
        let is_permitted = self.change(given, home.clone()).is_ok();
        if is_permitted {
            given.clone_from(home);
        }
        is_permitted
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::sys::affinity;

    /// The mask of the calling thread, and one of its CPUs. None: it has only one.
    fn two_masks() -> Option<(CpuMask, CpuMask)> {
        let all = affinity::query().unwrap();
        let one = CpuMask::from_iter(all.last().copied());
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

    /// Whether another thread on `cpu` brings the calling one there, whether as a guest, and the mask that it has then.
    fn bring_to(binding: &SleepBinding, policy: &WaitPolicy, cpu: &CpuMask) -> (bool, bool, CpuMask) {
        let call = || {
            affinity::apply(cpu).unwrap();
            binding.bring_here(policy)
        };
        let is_moved = thread::scope(|scope| scope.spawn(call).join().unwrap());
        (is_moved, binding.is_guest(), affinity::query().unwrap())
    }

    #[test]
    fn a_thread_is_brought_to_the_cpu_of_another_and_sent_back() {
        on_bound_thread(|binding, bound, unbound| {
            let (here, policy) = (CpuMask::from_iter(unbound.iter().next()), WaitPolicy::default());
            let bring_to = |cpu| bring_to(binding, &policy, cpu);
            assert_eq!(bring_to(&bound), (false, false, bound.clone()), "it is there already");
            assert_eq!(bring_to(&here), (true, true, bound.union(&here)));
            assert!(!binding.is_in_place() && policy.has_unbound_worker() && binding.mask_of_others().is_none());
            assert!(!bring_to(&here).0, "once is enough");
            assert!(!binding.unbind(), "it does not sleep as a guest");
            binding.end_visit(&policy);
            assert_eq!((binding.is_in_place(), affinity::query().unwrap()), (true, bound.clone()));
            binding.end_visit(&policy);
            // Who may run there anyhow is no guest.
            assert!(binding.unbind());
            assert_eq!(bring_to(&here), (true, false, unbound));
            assert!(binding.bind_again() && binding.is_in_place());
            assert_eq!(affinity::query().unwrap(), bound);
        });
    }

    #[test]
    fn whoever_is_bound_by_the_program_is_brought_nowhere() {
        on_bound_thread(|_, bound, unbound| {
            let (here, policy) = (CpuMask::from_iter(unbound.iter().next()), WaitPolicy::default());
            let by_program = SleepBinding::default();
            by_program.begin(bound.clone(), bound.clone());
            assert_eq!(bring_to(&by_program, &policy, &here), (false, false, bound.clone()));
            assert_eq!(by_program.ran_since_last_call(), None);
            assert_eq!(
                bring_to(&SleepBinding::default(), &policy, &here),
                (false, false, bound),
                "hive has not bound it"
            );
        });
    }

    #[test]
    fn who_runs_is_told_from_who_does_not() {
        const LONG: Duration = Duration::from_millis(20);
        static IS_SEEN: AtomicBool = AtomicBool::new(false);
        on_bound_thread(|binding, _, _| {
            thread::scope(|scope| {
                let (wake, sleep) = mpsc::channel::<()>();
                scope.spawn(|| {
                    // The other thread has run before this one exists.
                    assert!(binding.ran_since_last_call().is_some_and(|(ran, _)| !ran.is_zero()));
                    thread::sleep(LONG);
                    assert!(
                        binding.ran_since_last_call().is_some_and(|(ran, passed)| ran < LONG && passed >= LONG),
                        "it sleeps"
                    );
                    drop(wake);
                    // It has its CPU to itself, or takes turns.
                    let has_run = || binding.ran_since_last_call().is_some_and(|(ran, _)| !ran.is_zero());
                    assert!((0..1_000).any(|_| {
                        thread::sleep(Duration::from_millis(1));
                        has_run()
                    }));
                    IS_SEEN.store(true, Ordering::Relaxed);
                });
                assert!(sleep.recv().is_err());
                while !IS_SEEN.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        });
    }

    #[test]
    fn without_leave_nothing_changes() {
        let binding = SleepBinding::default();
        assert!(!binding.unbind() && !binding.is_unbound() && !binding.bind_again());
    }
}
