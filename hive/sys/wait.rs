//! How long a waiting thread polls before it sleeps, and what it does between two polls.
//!
//! Each hive has a [`WaitPolicy`]. Every wait in the protocols takes a [`Spinner`] from it and asks that after each
//! unsuccessful poll whether to poll again. The length of a wait is measured in time, not in PAUSE instructions,
//! because a PAUSE takes from 10 to 140 cycles.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use crate::sys::cost_of_waking::COST_OF_WAKING;
use crate::sys::cpu_count::CpuCount;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::{affinity, fork, presence, shared_cpu};

/// Polls at the beginning of a wait, without PAUSE instructions and without reading the clock. They take a microsecond
/// or two, in which most regions begin and end if they follow each other closely. With PAUSE instructions, each
/// hand-over would take longer by up to the length of one.
const HOT_POLLS: u32 = 256;

/// The same in a task pool, before the first yield. A thread from outside, for which a task has just ended, may have been
/// put on the CPU of any thread of the pool, and gets it only then.
const HOT_POLLS_OF_POOL: u32 = 32;

/// Polls from one reading of the clock to the next. Reading it takes 20 ns or more.
const POLLS_PER_CLOCK_READ: u32 = 16;

/// In the first phase of a wait, polls from one look for tasks to the next.
const POLLS_PER_TASK_CHECK: u32 = 8;

/// How often a waiting thread yields its core between polls before it sleeps. A thread that was waiting for this core
/// gets it.
const MAX_YIELDS: u32 = 16;

/// In place of the number of yields of a spinner: there is to be no polling.
const SPENT: u32 = u32::MAX;

/// Ends one poll before the next one begins, which takes some 7 ns. Without it, a processor that executes ahead has
/// dozens of loads of the polled line under way when the line changes. It then has to discard them, with all the work
/// that depends on them, and a hand-over between neighbouring cores takes half as long again.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "std has no safe name for this instruction")]
pub(crate) fn serialize_poll() {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { std::arch::x86_64::_mm_lfence() }
}

/// The same for other processors, by the instruction that each has for it. On ARM that is an ISB, which discards what
/// the processor has executed ahead.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn serialize_poll() {
    spin_loop();
}

/// How the bees of one hive wait, and whether they should go on polling at present.
#[derive(Debug)]
pub(crate) struct WaitPolicy {
    /// The generation (see `fork.rs`) of the process whose threads wait for each other by this policy.
    generation: u32,
    /// How long a wait polls. `Duration::MAX` means for ever.
    spin: Duration,
    /// Whether a worker may poll for less than `spin` where it has learned that polling does not pay (`poll_time.rs`).
    is_learning: bool,
    /// How often a sleeping bee looks for something to do by itself; None if it does not.
    poll_interval: Option<Duration>,
    /// The number of CPUs that this process may use. Workers find out when it changes, when a wait of theirs has polled
    /// for its spin time and is about to sleep: see `cpu_count.rs`, which also says what they cannot find out.
    cpus: CpuCount,
    /// The CPUs that workers are bound to, where a worker is bound to a single one.
    worker_cpus: CpuMask,
    /// Whether the program has asked hive to bind the queen, so that hive may change the masks of the program's
    /// threads.
    may_move_queen: bool,
    /// Whether the hive's own threads run everything, so that no queen wants a CPU as well.
    has_no_queen: bool,
    /// The number of `keep_spinning` sections that are open. While there are any, a waiting bee polls and does not go
    /// to sleep, unless there are fewer CPUs than threads that want one.
    spin_sections: AtomicU32,
    /// How often `stop_spinning` has been called. A waiting thread compares it with its value at the beginning of the
    /// wait.
    spin_epoch: AtomicU32,
    /// The CPU on which a worker was woken for a region last, by a thread that goes on there. `NO_CPU`: none.
    waker_cpu: AtomicUsize,
    /// The number of workers that are bound to a CPU otherwise, and sleep or run unbound at present.
    unbound_workers: AtomicU32,
}

/// The number of no CPU.
const NO_CPU: usize = usize::MAX;

impl WaitPolicy {
    /// A policy by which bees poll for `spin` and then sleep, and look for something to do every `poll_interval` while
    /// they sleep. The process may use `cpus` CPUs, and workers are bound to `worker_cpus`.
    pub(crate) fn new(spin: Duration, poll_interval: Option<Duration>, cpus: usize, worker_cpus: CpuMask) -> Self {
        let (generation, zero) = (fork::generation(), || AtomicU32::new(0));
        let (spin_sections, spin_epoch, is_learning) = (zero(), zero(), false);
        let waker_cpu = AtomicUsize::new(NO_CPU);
        let unbound_workers = zero();
        Self {
            generation,
            spin,
            is_learning,
            poll_interval,
            cpus: CpuCount::new(cpus),
            worker_cpus,
            may_move_queen: false,
            has_no_queen: false,
            spin_sections,
            spin_epoch,
            waker_cpu,
            unbound_workers,
        }
    }

    /// The same policy for a hive that may move the program's threads, if `is_pinned`: the program has asked for the
    /// queen to be bound.
    pub(crate) fn with_queen_pinned(self, is_pinned: bool) -> Self {
        Self { may_move_queen: is_pinned, ..self }
    }

    /// The same policy for a task pool, whose callers wait while its workers run.
    pub(crate) fn without_queen(self) -> Self {
        Self { has_no_queen: true, ..self }
    }

    /// The same policy for a process that may never use more than `cpus` CPUs at a time, whatever its mask is.
    pub(crate) fn with_cpu_limit(self, cpus: usize) -> Self {
        Self { cpus: self.cpus.with_limit(cpus), ..self }
    }

    /// See [`CpuCount::begin_to_look`].
    pub(crate) fn begin_to_look_at_cpus(&self, is_bound: bool) {
        self.cpus.begin_to_look(is_bound);
    }

    /// The same policy for a hive whose spin time the program has not chosen: its workers learn how long to poll.
    pub(crate) fn learning(self) -> Self {
        Self { is_learning: true, ..self }
    }

    /// The spin time, and whether workers learn how much of it to use.
    pub(crate) fn spin_time(&self) -> (Duration, bool) {
        (self.spin, self.is_learning)
    }

    /// Whether the calling process is a forked child of the one whose threads wait for each other.
    #[inline(always)]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Aborts the process if it is a forked child. Call it where a thread is about to wait for other bees or to do
    /// their work: a child has no other bees that it could wait for.
    #[inline(always)]
    pub(crate) fn abort_if_forked(&self) {
        if self.is_forked() {
            fork::abort_forked_child();
        }
    }

    /// How often a sleeping bee looks for something to do by itself.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.poll_interval
    }

    /// Gives way to a worker that is bound to the calling thread's CPU. The calling thread is usually the queen. She
    /// need not be bound, and the kernel may have moved her there while the worker slept. The worker can run on no
    /// other CPU, and the kernel takes many milliseconds to notice that it waits for this one.
    ///
    /// A thread of hive's own moves to another CPU, and so does any thread if the program has asked for the queen to be
    /// bound. Another thread belongs to the program, and its mask is not changed, not even for a moment: a change that
    /// the program makes at the same time would be lost, and for Linux a thread whose mask was set once is no longer
    /// one that may use CPUs which the process gets later. Such a thread only yields. Then the worker runs, and the
    /// kernel usually moves the yielding thread to an idle CPU when it next balances the load. Until it does, which may
    /// take some milliseconds, the two share the CPU: the queen's part waits for the worker's, or the reverse.
    #[cold]
    pub(crate) fn give_way_to_workers(&self) {
        // Relaxed: a hint. A worker that is not bound at present can run elsewhere, and if it is queued here, the
        // yields between polls let it run.
        if self.unbound_workers.load(Ordering::Relaxed) > 0 {
            return;
        }
        if self.may_move_caller() {
            self.migrate_off_worker_cpus();
        } else {
            self.yield_to_worker();
        }
    }

    /// Moves the calling thread off a CPU that a worker is bound to, whoever it belongs to. Its mask is another one for
    /// a moment.
    pub(crate) fn migrate_off_worker_cpus(&self) {
        affinity::migrate_off(&self.worker_cpus);
    }

    /// Yields once, if the calling thread is on a worker's CPU and hive may not move it. In a wait that polls this
    /// comes now and then, and not after each poll: if another thread wants the CPU as well, a yield costs a time
    /// slice.
    fn yield_to_worker(&self) {
        if !self.may_move_caller() && self.is_on_worker_cpu() {
            yield_now();
        }
    }

    /// Whether the mask of the calling thread is hive's to change.
    fn may_move_caller(&self) -> bool {
        self.may_move_queen || presence::is_worker()
    }

    /// Whether the calling thread is on a CPU that a worker is bound to.
    fn is_on_worker_cpu(&self) -> bool {
        !self.worker_cpus.is_empty() && affinity::current_cpu().is_some_and(|cpu| self.worker_cpus.contains(cpu))
    }

    /// Notes where the calling thread runs, which has woken workers for a region and takes part in it itself.
    #[cold]
    pub(crate) fn note_waker(&self) {
        // Relaxed, here and below: a hint.
        if self.worker_cpus.is_empty() {
            self.waker_cpu.store(affinity::current_cpu().unwrap_or(NO_CPU), Ordering::Relaxed);
        }
    }

    /// Moves the calling worker off the CPU of the thread that has woken it, after it has come too late. A worker that
    /// is not bound may have been put on that CPU, behind that thread. The kernel prefers the CPU on which a thread has
    /// run last, so it would be put there again and again.
    #[cold]
    pub(crate) fn leave_wakers_cpu(&self) {
        let waker_cpu = self.waker_cpu.load(Ordering::Relaxed);
        if self.worker_cpus.is_empty() && waker_cpu != NO_CPU {
            affinity::migrate_off(&CpuMask::from_iter([waker_cpu]));
        }
    }

    /// Whether the workers are bound to no CPUs at all.
    pub(crate) fn binds_no_worker(&self) -> bool {
        self.worker_cpus.is_empty()
    }

    /// Whether some worker is bound to no CPU at present, so that it may be queued behind a thread that waits for it.
    fn has_unbound_worker(&self) -> bool {
        // Relaxed: a hint. A thread that wakes an unbound worker has seen it count itself.
        self.binds_no_worker() || self.unbound_workers.load(Ordering::Relaxed) > 0
    }

    /// Counts a worker that is unbound from now on.
    pub(crate) fn count_unbound(&self) {
        // Relaxed, here and below: see `has_unbound_worker`.
        self.unbound_workers.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker that was unbound is bound again.
    pub(crate) fn uncount_unbound(&self) {
        self.unbound_workers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The spinner for one wait.
    #[inline(always)]
    pub(crate) fn spinner(&self) -> Spinner<'_> {
        self.spinner_with_time(self.spin)
    }

    /// The spinner for a wait for bees that were asleep and have been woken. A core that has been idle for long may
    /// take longer to wake up than a wait usually polls; if the waiting thread went to sleep, it would take as long
    /// again to wake that one.
    #[inline(always)]
    pub(crate) fn spinner_for_sleepers(&self) -> Spinner<'_> {
        let spinner = self.spinner_with_time(self.spin.saturating_mul(8));
        // A bee that is bound to no CPU may have been put on this one, so the wait begins with a yield.
        if self.has_unbound_worker() { Spinner { polls: HOT_POLLS, ..spinner } } else { spinner }
    }

    /// The spinner for the wait of a thread that wants to be queen while another one is. The team is at work meanwhile,
    /// so if there are CPUs for the team only, this thread keeps one of them from it.
    pub(crate) fn spinner_beside_team(&self) -> Spinner<'_> {
        // The team's queen and this thread want a CPU as well.
        let is_in_the_way = presence::awake_workers() + 2 > self.cpus.get();
        let spinner = self.spinner();
        Spinner { yields_between: spinner.yields_between || is_in_the_way, ..spinner }
    }

    /// The spinner for the wait of a thread from outside for a task pool, which runs what it has handed over.
    pub(crate) fn spinner_of_outsider(&self) -> Spinner<'_> {
        // A wake-up costs no more than this.
        Spinner { yields_between: true, ..self.spinner_with_time(self.spin.min(COST_OF_WAKING)) }
    }

    /// The spinner for a wait that begins after a task. Another task may be there already, so this wait begins with a
    /// look for one.
    #[inline(always)]
    pub(crate) fn spinner_after_task(&self) -> Spinner<'_> {
        let spinner = self.spinner();
        Spinner { polls: spinner.polls.max(POLLS_PER_TASK_CHECK - 1), ..spinner }
    }

    /// The number of times that waits have been told to stop polling. A thread that will begin to wait later asks for
    /// it beforehand, and passes it to `worker_spinner`, so that it does not miss a `stop_spinning` that comes before
    /// the wait begins.
    #[inline(always)]
    pub(crate) fn spin_epoch(&self) -> u32 {
        // Relaxed: the number is only compared with itself. Suppose that this thread does something after this load and
        // publishes it by a Release, and that another thread sees it by an Acquire and then calls `stop_spinning`. This
        // load cannot see that call, so the comparison later will notice it.
        self.spin_epoch.load(Ordering::Relaxed)
    }

    /// The spinner for the wait of a worker for its next region, in which it polls no longer than `limit`. The
    /// wait ends early if waits have been told to stop polling since `spin_epoch` was asked for.
    #[inline(always)]
    pub(crate) fn worker_spinner(&self, spin_epoch: u32, limit: Duration) -> Spinner<'_> {
        Spinner { spin_epoch, ..self.spinner_with_time(self.spin.min(limit)) }
    }

    /// The spinner for a wait in which a worker does not poll.
    pub(crate) fn spent_spinner(&self) -> Spinner<'_> {
        let (spinner, now) = (self.spinner_with_time(Duration::ZERO), Some(Instant::now()));
        Spinner { polls: HOT_POLLS, yields: SPENT, deadline: now, now, ..spinner }
    }

    /// A spinner that polls for `spin`. If there are fewer CPUs than threads that want one, it skips the first phase.
    #[inline(always)]
    fn spinner_with_time(&self, spin: Duration) -> Spinner<'_> {
        // A spinner that begins with HOT_POLLS polls counted is past its first phase.
        let polls = match self.is_oversubscribed() {
            true => HOT_POLLS,
            false if self.has_no_queen => HOT_POLLS - HOT_POLLS_OF_POOL,
            false => 0,
        };
        Spinner {
            policy: self,
            spin,
            polls,
            yields: 0,
            spin_epoch: self.spin_epoch(),
            yields_between: false,
            deadline: None,
            now: None,
        }
    }

    /// Whether a worker sleeps where another thread wants its CPU all the time, so that it is woken on another CPU if one
    /// is free (`shared_cpu.rs`). So it is in task pools whose spin time the program has not chosen. A hive's workers
    /// are bound, or yield to a queen whose part of a region ends soon.
    fn leaves_shared_cpus(&self) -> bool {
        self.has_no_queen && self.is_learning
    }

    /// Makes all waiting bees of the hive go on polling until the guard is dropped, as long as there are CPUs enough.
    pub(crate) fn keep_spinning(&self) -> impl Drop + use<'_> {
        struct SpinSection<'p>(&'p AtomicU32);
        impl Drop for SpinSection<'_> {
            fn drop(&mut self) {
                // Relaxed: see below.
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        // Relaxed: a waiting thread sees it sooner or later; the region that wakes all bees comes after it.
        self.spin_sections.fetch_add(1, Ordering::Relaxed);
        SpinSection(&self.spin_sections)
    }

    /// Whether waits go on polling at present, because a `keep_spinning` section is open.
    pub(crate) fn keeps_spinning(&self) -> bool {
        // Relaxed: see `keep_spinning`.
        self.spin_sections.load(Ordering::Relaxed) > 0
    }

    /// Makes all bees that wait now stop polling.
    pub(crate) fn stop_spinning(&self) {
        // Relaxed: a waiting thread sees it sooner or later.
        self.spin_epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets another thread have the core for a moment.
    pub(crate) fn yield_core(&self) {
        yield_now();
    }

    /// See [`presence::while_off_core`].
    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        presence::while_off_core(sleep)
    }

    /// Whether more threads want a core than there are cores: the workers that are awake, and one queen. A thread that
    /// polls then may keep the very thread that it waits for off its core.
    #[inline(always)]
    fn is_oversubscribed(&self) -> bool {
        presence::awake_workers() + usize::from(!self.has_no_queen) > self.cpus.get()
    }
}

/// Decides, for one wait, whether to poll again. A wait has three phases: `HOT_POLLS` polls without pauses; polls with
/// PAUSE instructions (with yields, if some of the hive's workers are not bound to CPUs) until the policy's spin time
/// is over; `MAX_YIELDS` polls with a yield of the core between them. After that it is time to sleep.
pub(crate) struct Spinner<'p> {
    policy: &'p WaitPolicy,
    /// How long the second phase lasts.
    spin: Duration,
    /// The polls so far. In the second phase the number goes round, from `HOT_POLLS` up to the next multiple of
    /// `POLLS_PER_CLOCK_READ`.
    polls: u32,
    /// The yields so far, in the third phase. `SPENT`: the thread is not to poll at all.
    yields: u32,
    /// The policy's number of calls of `stop_spinning` when the wait began.
    spin_epoch: u32,
    /// Whether the thread that this one waits for may be queued on the same CPU, behind this very thread, although the
    /// workers are bound. See `pause`.
    yields_between: bool,
    /// When the second phase ends. None: the clock has not been read yet, or the phase has no end.
    deadline: Option<Instant>,
    /// When the clock was read last.
    now: Option<Instant>,
}

impl Spinner<'_> {
    /// Call this after a poll that has found nothing. Returns whether to poll again; if not, it is time to sleep.
    #[inline(always)]
    pub(crate) fn spin_once(&mut self) -> bool {
        if self.is_hot() {
            self.polls += 1;
            serialize_poll();
            return true;
        }
        self.spin_once_slowly()
    }

    /// The second and the third phase.
    #[cold]
    fn spin_once_slowly(&mut self) -> bool {
        if self.yields == SPENT {
            return false;
        }
        // Polling would be useless or is not wanted: go on to the third phase at once.
        if self.policy.is_oversubscribed() || self.is_told_to_stop() {
            return self.yield_once();
        }
        self.polls += 1;
        // Most polls of the second phase only execute a PAUSE. The rest of this function runs at every
        // POLLS_PER_CLOCK_READ-th.
        if self.polls % POLLS_PER_CLOCK_READ != 0 {
            return !self.pause();
        }
        // Back to the beginning of this phase, so that the number does not overflow in an endless wait.
        self.polls = HOT_POLLS;
        self.policy.abort_if_forked();
        if self.spin == Duration::MAX || self.policy.keeps_spinning() {
            self.deadline = None;
            self.policy.cpus.look_seldom();
            return true;
        }
        let now = Instant::now();
        self.now = Some(now);
        match self.deadline {
            Some(deadline) if now >= deadline => {
                // The thread waited for may be a worker that needs this CPU: once, before the first yield, move off it.
                if self.yields == 0 {
                    self.policy.give_way_to_workers();
                }
                self.yield_once()
            }
            Some(_) => {
                self.policy.yield_to_worker();
                true
            }
            None => {
                // A spin time beyond the range of the clock is endless.
                self.deadline = now.checked_add(self.spin);
                self.policy.yield_to_worker();
                true
            }
        }
    }

    /// Whether the wait is in its first phase, that is, has only just begun.
    #[inline(always)]
    pub(crate) fn is_hot(&self) -> bool {
        self.polls < HOT_POLLS
    }

    /// When the wait began, or a little later. None: the clock has not been read yet.
    pub(crate) fn began(&self) -> Option<Instant> {
        self.deadline?.checked_sub(self.spin)
    }

    /// When the clock was read last, which is not long ago.
    pub(crate) fn last_seen(&self) -> Option<Instant> {
        self.now
    }

    /// Whether to look for tasks as well as at what is polled. In the first phase that is done only now and then,
    /// because a look for tasks reads many cache lines.
    #[inline(always)]
    pub(crate) fn should_check_tasks(&self) -> bool {
        !self.is_hot() || self.polls % POLLS_PER_TASK_CHECK == POLLS_PER_TASK_CHECK - 1
    }

    /// Whether waits have been told to stop polling since this one began.
    fn is_told_to_stop(&self) -> bool {
        // Relaxed: see `stop_spinning`.
        self.policy.spin_epoch.load(Ordering::Relaxed) != self.spin_epoch
    }

    /// Passes the time between two polls of the second phase. Where the thread that this one waits for may be queued on
    /// the same CPU, behind this very thread, a yield lets it run. If no other thread wants the CPU, that takes a
    /// fraction of a microsecond. Returns whether this thread had better sleep, because another one on its CPU goes on
    /// and on.
    #[inline(always)]
    fn pause(&self) -> bool {
        let leaves_shared_cpu = !self.yields_between && self.policy.leaves_shared_cpus();
        if leaves_shared_cpu {
            return shared_cpu::yield_and_look();
        }
        if self.yields_between || self.policy.has_unbound_worker() {
            yield_now()
        } else {
            spin_loop()
        }
        false
    }

    /// One step of the third phase: yields the core. Returns whether to poll again.
    fn yield_once(&mut self) -> bool {
        self.policy.abort_if_forked();
        // Saturating: a wait with naps goes on after its last yield, with one more yield after each nap.
        self.yields = self.yields.saturating_add(1);
        yield_now();
        let is_over = self.yields > MAX_YIELDS;
        if is_over {
            self.policy.cpus.look();
        }
        !is_over
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
}
