//! How long a waiting thread polls before it sleeps: measured in time, because a PAUSE takes from 10 to 140 cycles.

use std::cell::Cell;
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use crate::sys::cpu_mask::CpuMask;
use crate::sys::fork;
use crate::topology::pinning;

/// Polls without PAUSE and without a look at the clock: a microsecond or two, in which a hot region begins and ends. A PAUSE would add up to its own
/// length to each hand-over.
const HOT_POLLS: u32 = 256;

/// Polls between two looks at the clock, which takes 20 ns or more.
const POLLS_PER_CLOCK_READ: u32 = 16;

/// Hot polls from one look for tasks to the next.
const POLLS_PER_TASK_CHECK: u32 = 8;

/// Polls with a `sched_yield` between them, before sleeping: a thread that was only waiting for this core gets it.
const MAX_YIELDS: u32 = 16;

/// Bees of all hives that are on a core, or want to be: the threads that are `Presence::OnCore`. Changed when a bee goes to sleep and when it comes back only.
static AWAKE_WORKERS: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread is counted in `AWAKE_WORKERS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// It is no bee. A queen is not counted, wherever she waits.
    NotWorker,
    /// It is.
    OnCore,
    /// It is a bee, and has counted itself off while it sleeps.
    OffCore,
}

thread_local! {
    /// Of the calling thread.
    static PRESENCE: Cell<Presence> = const { Cell::new(Presence::NotWorker) };
}

/// Forgets the bees of the parent process. The calling thread, a forked child's only one, may have been one of them.
#[cfg(unix)]
pub(crate) fn forget_workers() {
    PRESENCE.set(Presence::NotWorker);
    // Relaxed: a forked child has one thread.
    AWAKE_WORKERS.store(0, Ordering::Relaxed);
}

/// Ends one poll before the next begins: some 7 ns. Without it a processor that runs ahead has dozens of loads of the polled line under way when that
/// changes, and has to throw them away, with all that it took to come after: a hand-over between neighbours takes half as long again.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "std has no safe name for this instruction")]
pub(crate) fn serialize_poll() {
    // SAFETY: every x86-64 has it.
    unsafe { std::arch::x86_64::_mm_lfence() }
}

/// The same elsewhere, by what the processor has for it: an ISB on ARM, which throws away what it has run ahead with.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn serialize_poll() {
    spin_loop();
}

/// What a hive's bees do while they wait.
#[derive(Debug)]
pub(crate) struct WaitPolicy {
    /// The process whose threads wait for each other: see `fork.rs`.
    generation: u32,
    spin: Duration,
    /// How often sleepers look for something to do by themselves.
    poll_interval: Option<Duration>,
    cpus: usize,
    /// The CPUs that bees are bound to, one each.
    worker_cpus: CpuMask,
    /// Hot sections that are on: nobody sleeps.
    spin_sections: AtomicU32,
    /// How often all have been told not to wait any longer. Who waits compares it with what it was as the wait began.
    spin_epoch: AtomicU32,
}

impl WaitPolicy {
    /// Bees poll for `spin` and sleep afterwards, and look for something to do every `poll_interval` then; on `cpus` CPUs, as far as this process may use them.
    /// Bees are bound to `worker_cpus`.
    pub(crate) fn new(spin: Duration, poll_interval: Option<Duration>, cpus: usize, worker_cpus: CpuMask) -> Self {
        let (generation, zero) = (fork::generation(), || AtomicU32::new(0));
        Self { generation, spin, poll_interval, cpus, worker_cpus, spin_sections: zero(), spin_epoch: zero() }
    }

    /// Whether the calling process is a forked child of the one whose threads wait for each other.
    #[inline(always)]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Call where a thread has something of others' to do, or waits for them: in a forked child, where nobody is whom it could wait for, this is the end.
    #[inline(always)]
    pub(crate) fn abort_if_forked(&self) {
        if self.is_forked() {
            fork::abort_forked_child();
        }
    }

    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.poll_interval
    }

    /// Moves the queen off a CPU that a bee is bound to. She is not bound, and the kernel may have put her there while the bee slept; it
    /// takes many milliseconds to notice that the bee, which can run nowhere else, waits for that very CPU.
    #[cold]
    pub(crate) fn migrate_off_worker_cpus(&self) {
        pinning::migrate_off(&self.worker_cpus);
    }

    /// The patience of one wait.
    #[inline(always)]
    pub(crate) fn spinner(&self) -> Spinner<'_> {
        self.spinner_with_time(self.spin)
    }

    /// The patience of one wait for somebody who was asleep and has been called. A core that has been idle for long may take longer to wake than
    /// anybody polls otherwise, and would take as long again to wake who waits for it.
    #[inline(always)]
    pub(crate) fn spinner_for_sleepers(&self) -> Spinner<'_> {
        self.spinner_with_time(self.spin.saturating_mul(8))
    }

    /// The patience of one wait after a task: another may be there already, so it begins with a look for one.
    #[inline(always)]
    pub(crate) fn spinner_after_task(&self) -> Spinner<'_> {
        let spinner = self.spinner();
        Spinner { polls: spinner.polls.max(POLLS_PER_TASK_CHECK - 1), ..spinner }
    }

    /// How often the waits of that time have been ended. Who begins to wait later asks first, by this, so that it does not miss an
    /// end that is called for before it has begun.
    #[inline(always)]
    pub(crate) fn spin_epoch(&self) -> u32 {
        // Relaxed: compared with itself only. Who calls for an end after it has heard of something that this thread
        // has done after this look, by a Release and an Acquire, is not seen yet by this look.
        self.spin_epoch.load(Ordering::Relaxed)
    }

    /// The patience of one wait, which is over if such waits have been ended since `spin_epoch` was asked.
    #[inline(always)]
    pub(crate) fn spinner_since(&self, spin_epoch: u32) -> Spinner<'_> {
        Spinner { spin_epoch, ..self.spinner() }
    }

    #[inline(always)]
    fn spinner_with_time(&self, spin: Duration) -> Spinner<'_> {
        let polls = if self.is_oversubscribed() { HOT_POLLS } else { 0 };
        Spinner { policy: self, spin, polls, yields: 0, spin_epoch: self.spin_epoch(), deadline: None }
    }

    /// Has whoever waits go on polling until the guard is dropped.
    pub(crate) fn keep_spinning(&self) -> impl Drop + use<'_> {
        struct SpinSection<'p>(&'p AtomicU32);
        impl Drop for SpinSection<'_> {
            fn drop(&mut self) {
                // Relaxed: as below.
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        // Relaxed: a waiter sees it sooner or later, and the region that wakes the team comes after.
        self.spin_sections.fetch_add(1, Ordering::Relaxed);
        SpinSection(&self.spin_sections)
    }

    /// Ends the polling of all who wait now.
    pub(crate) fn stop_spinning(&self) {
        // Relaxed: a waiter sees it sooner or later.
        self.spin_epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets others have the core for a moment.
    pub(crate) fn yield_core(&self) {
        yield_now();
    }

    /// Marks the calling thread, if it is a bee, as gone from its core while `sleep` runs.
    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        let _off_core = PresenceChange::apply(Presence::OnCore, Presence::OffCore);
        sleep()
    }

    /// Counts the calling thread, which becomes a bee, among those awake for as long as the guard lives.
    pub(crate) fn count_on_core(&self) -> impl Drop + use<> {
        PresenceChange::apply(Presence::NotWorker, Presence::OnCore)
    }

    /// Whether more threads want a core than there are: the bees awake and the queen. Then a spinning waiter keeps off
    /// the core the very thread that it waits for.
    #[inline(always)]
    fn is_oversubscribed(&self) -> bool {
        // Relaxed: a hint; nothing is read on the strength of it.
        AWAKE_WORKERS.load(Ordering::Relaxed) >= self.cpus
    }
}

/// A change of the calling thread's presence, undone on drop. Stays on that thread.
struct PresenceChange {
    /// None: the thread was something else, and still is.
    applied: Option<(Presence, Presence)>,
    _on_its_thread: PhantomData<*const ()>,
}

impl PresenceChange {
    fn apply(from: Presence, to: Presence) -> Self {
        let is_applied = PRESENCE.get() == from;
        if is_applied {
            set_presence(to);
        }
        Self { applied: is_applied.then_some((from, to)), _on_its_thread: PhantomData }
    }
}

impl Drop for PresenceChange {
    fn drop(&mut self) {
        // A forked child may have forgotten that the thread was a bee.
        if let Some((from, _)) = self.applied.filter(|&(_, to)| PRESENCE.get() == to) {
            set_presence(from);
        }
    }
}

/// Makes the calling thread's presence another one, and keeps the count.
fn set_presence(presence: Presence) {
    let before = PRESENCE.replace(presence);
    // Relaxed, both: a hint, see `is_oversubscribed`.
    if presence == Presence::OnCore {
        AWAKE_WORKERS.fetch_add(1, Ordering::Relaxed);
    } else if before == Presence::OnCore {
        let awake = AWAKE_WORKERS.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(awake > 0, "a bee leaves its core, and none was counted on one");
    }
}

/// The patience of one wait: polls hot, then with pauses until the policy's spin time is over, then yields, then is over.
pub(crate) struct Spinner<'p> {
    policy: &'p WaitPolicy,
    spin: Duration,
    polls: u32,
    yields: u32,
    /// Of the policy, as the wait began.
    spin_epoch: u32,
    /// None: the clock has not been looked at yet, or spinning never ends.
    deadline: Option<Instant>,
}

impl Spinner<'_> {
    /// Call after a poll that found nothing. Says whether to poll again; if not, it is time to sleep.
    #[inline(always)]
    pub(crate) fn spin_once(&mut self) -> bool {
        if self.is_hot() {
            self.polls += 1;
            serialize_poll();
            return true;
        }
        self.spin_once_slowly()
    }

    #[cold]
    fn spin_once_slowly(&mut self) -> bool {
        if self.policy.is_oversubscribed() || self.is_told_to_stop() {
            return self.yield_once();
        }
        self.polls += 1;
        if !self.polls.is_multiple_of(POLLS_PER_CLOCK_READ) {
            spin_loop();
            return true;
        }
        // Wraps back to the start of this phase, so that an endless spin does not overflow.
        self.polls = HOT_POLLS;
        self.policy.abort_if_forked();
        // Relaxed: a hint, looked at again soon.
        if self.spin == Duration::MAX || self.policy.spin_sections.load(Ordering::Relaxed) > 0 {
            self.deadline = None;
            return true;
        }
        let now = Instant::now();
        match self.deadline {
            Some(deadline) if now >= deadline => {
                if self.yields == 0 {
                    self.policy.migrate_off_worker_cpus();
                }
                self.yield_once()
            }
            Some(_) => true,
            None => {
                // A spin time beyond the clock's range is endless.
                self.deadline = now.checked_add(self.spin);
                true
            }
        }
    }

    /// Whether the wait has only just begun.
    #[inline(always)]
    pub(crate) fn is_hot(&self) -> bool {
        self.polls < HOT_POLLS
    }

    /// Whether to look for tasks as well as at what is polled: while the wait is hot only now and then, because that is many cache lines.
    #[inline(always)]
    pub(crate) fn should_check_tasks(&self) -> bool {
        !self.is_hot() || self.polls % POLLS_PER_TASK_CHECK == POLLS_PER_TASK_CHECK - 1
    }

    /// Whether all have been told not to wait any longer since this wait began.
    fn is_told_to_stop(&self) -> bool {
        // Relaxed: as in `stop_spinning`.
        self.policy.spin_epoch.load(Ordering::Relaxed) != self.spin_epoch
    }

    fn yield_once(&mut self) -> bool {
        self.policy.abort_if_forked();
        self.yields += 1;
        yield_now();
        self.yields <= MAX_YIELDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinner_ends_after_the_spin_time_and_not_before() {
        let policy = WaitPolicy::new(Duration::from_millis(5), None, usize::MAX, CpuMask::new());
        let start = Instant::now();
        let mut spinner = policy.spinner();
        while spinner.spin_once() {}
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn an_endless_spin_does_not_end() {
        let policy = WaitPolicy::new(Duration::MAX, None, usize::MAX, CpuMask::new());
        let mut spinner = policy.spinner();
        assert!((0..10 * HOT_POLLS).all(|_| spinner.spin_once()));
    }

    #[test]
    fn where_cpus_are_short_nobody_polls_for_long() {
        let policy = WaitPolicy::new(Duration::MAX, None, 0, CpuMask::new());
        let mut spinner = policy.spinner();
        assert!((0..=MAX_YIELDS).any(|_| !spinner.spin_once()));
    }

    /// On a thread of its own: what the other tests' threads are is nothing to it.
    #[test]
    fn only_a_worker_is_counted_off_and_on() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let presence = |policy: &WaitPolicy| policy.while_off_core(|| PRESENCE.get());
        std::thread::spawn(move || {
            assert_eq!((presence(&policy), PRESENCE.get()), (Presence::NotWorker, Presence::NotWorker));
            let on_core = policy.count_on_core();
            assert_eq!((presence(&policy), PRESENCE.get()), (Presence::OffCore, Presence::OnCore));
            assert_eq!(policy.while_off_core(|| presence(&policy)), Presence::OffCore, "once is enough");
            assert!(AWAKE_WORKERS.load(Ordering::Relaxed) > 0);
            drop(on_core);
            assert_eq!(PRESENCE.get(), Presence::NotWorker);
        })
        .join()
        .unwrap();
    }
}
