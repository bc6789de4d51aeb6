//! How long a waiting thread polls before it sleeps, and what it does between two polls.
//!
//! Every wait in the protocols takes a [`Spinner`] from the [`WaitPolicy`] of its hive and asks that after each
//! unsuccessful poll whether to poll again. The length of a wait is measured in time, not in PAUSE instructions,
//! because a PAUSE takes from 10 to 140 cycles.

use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use crate::sys::wait::WaitPolicy;
use crate::sys::{presence, shared_cpu};

/// Polls at the beginning of a wait, without PAUSE instructions and without reading the clock. They take a microsecond
/// or two, in which most regions begin and end if they follow each other closely. With PAUSE instructions, each
/// hand-over would take longer by up to the length of one.
const HOT_POLLS: u32 = 256;

/// The same for a thread of a task pool between two tasks, and for who has handed one over. A thread from outside, for
/// which a task has just ended, may have been put on the CPU of any thread of the pool that has nothing to do, and gets
/// it only when that yields.
const HOT_POLLS_OF_POOL: u32 = 32;

/// Polls from one reading of the clock to the next. Reading it takes 20 ns or more.
const POLLS_PER_CLOCK_READ: u32 = 16;

/// In the first phase of a wait, polls from one look for tasks to the next.
const POLLS_PER_TASK_CHECK: u32 = 8;

/// How often a waiting thread yields its core between polls before it sleeps, as long as yields pay
/// (`costly_yields.rs`). A thread that was waiting for this core gets it.
const MAX_YIELDS: u32 = 16;

/// In place of the number of polls: the next step of the wait reads the clock, or yields.
const AFTER_POLLS: u32 = HOT_POLLS + POLLS_PER_CLOCK_READ - 1;

/// Ends one poll before the next one begins, which takes some 7 ns. Without it, a processor that executes ahead has
/// dozens of loads of the polled line under way when the line changes. It then has to discard them, with all the work
/// that depends on them, and a hand-over between neighbouring cores takes half as long again.
///
/// The instruction begins a cache line, so the load and the branches after it share that line. What follows a poll that
/// has found something is then fetched as one piece. Where two threads that hand over to each other are on one core, a
/// region would otherwise take a quarter longer, or not, depending on where the linker puts the function.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "std has no safe name for this instruction, nor for where one lies")]
pub(crate) fn serialize_poll() {
    // SAFETY: every x86-64 processor has this instruction, which changes nothing. The directive fills the space up to
    // the cache line with instructions that do nothing.
    unsafe { std::arch::asm!(".p2align 6", "lfence", options(nostack, preserves_flags)) }
}

/// The same for other processors, by the instruction that each has for it. On ARM that is an ISB, which discards what
/// the processor has executed ahead.
#[inline(always)]
#[cfg(any(not(target_arch = "x86_64"), miri))]
pub(crate) fn serialize_poll() {
    spin_loop();
}

impl WaitPolicy {
    /// The spinner for one wait.
    #[inline(always)]
    pub(crate) fn spinner(&self) -> Spinner<'_> {
        self.spinner_with_time(self.spin)
    }

    /// The spinner for a wait for other bees of a team of `bees`.
    #[inline(always)]
    pub(crate) fn spinner_in_team(&self, bees: u32) -> Spinner<'_> {
        self.spinner().in_team(bees)
    }

    /// The spinner for a wait for bees of a team of `bees` that were asleep and have been woken. A core that has been
    /// idle for long may take longer to wake up than a wait usually polls; if the waiting thread went to sleep, it
    /// would take as long again to wake that one.
    #[inline(always)]
    pub(crate) fn spinner_for_sleepers(&self, bees: u32) -> Spinner<'_> {
        let spinner = self.spinner_with_time(self.spin.saturating_mul(8)).in_team(bees);
        // A bee that is bound to no CPU may have been put on this one, so the wait begins with a yield.
        if self.has_unbound_worker() { Spinner { polls: spinner.polls.max(HOT_POLLS), ..spinner } } else { spinner }
    }

    /// The spinner for the wait of a thread that wants to be queen while another one is. The team is at work meanwhile,
    /// so if there are CPUs for the team only, this thread keeps one of them from it.
    pub(crate) fn spinner_beside_team(&self) -> Spinner<'_> {
        // The team's queen and this thread want a CPU as well.
        let is_in_the_way = presence::awake_workers() + 2 > self.cpus.get();
        Spinner { yields_between: is_in_the_way, ..self.spinner() }
    }

    /// The spinner for the wait of a thread that has handed a task over to a task pool, and belongs to none. It polls
    /// no longer than `limit`.
    pub(crate) fn spinner_of_outsider(&self, limit: Duration) -> Spinner<'_> {
        let spinner = self.spinner_with_time(self.spin.min(limit)).with_hot_polls_of_pool();
        Spinner { yields_between: true, ..spinner }
    }

    /// The spinner for the wait of a worker that begins after a task. Another task may be there already, so this wait
    /// begins with a look for one. In a task pool a few polls come first: threads that take short tasks from one
    /// another as fast as they can get in each other's way.
    #[inline(always)]
    pub(crate) fn spinner_after_task(&self) -> Spinner<'_> {
        if self.has_no_queen {
            shared_cpu::note_task();
        }
        let spinner = self.spinner().between_tasks();
        Spinner { polls: spinner.polls.max(POLLS_PER_TASK_CHECK - 1), ..spinner }
    }

    /// The spinner for the wait of a worker for its next region, in which it polls no longer than `limit`. The
    /// wait ends early if waits have been told to stop polling since `spin_epoch` was asked for.
    #[inline(always)]
    pub(crate) fn worker_spinner(&self, spin_epoch: u32, limit: Duration) -> Spinner<'_> {
        Spinner { spin_epoch, ..self.spinner_with_time(self.spin.min(limit)).between_tasks() }
    }

    /// The spinner for a wait in which a worker does not poll.
    pub(crate) fn spent_spinner(&self) -> Spinner<'_> {
        let (spinner, now) = (self.spinner_with_time(Duration::ZERO), Some(Instant::now()));
        Spinner { polls: AFTER_POLLS, yields: MAX_YIELDS, deadline: now, last_seen: now, ..spinner }
    }

    /// A spinner that polls for `spin`. If there are fewer CPUs than threads that want one, or the hive is not to poll,
    /// it skips the first phase.
    #[inline(always)]
    fn spinner_with_time(&self, spin: Duration) -> Spinner<'_> {
        let polls = if self.is_oversubscribed() || self.spin.is_zero() { AFTER_POLLS } else { 0 };
        Spinner {
            policy: self,
            spin,
            polls,
            yields: 0,
            spin_epoch: self.spin_epoch(),
            yields_between: false,
            is_short_of_cpus: false,
            leaves_shared_cpu: false,
            deadline: None,
            last_seen: None,
        }
    }
}

/// Decides, for one wait, whether to poll again. A wait has three phases: `HOT_POLLS` polls without pauses, or fewer;
/// polls with PAUSE instructions (with yields, if some of the hive's workers are not bound to CPUs) until the policy's
/// spin time is over; up to `MAX_YIELDS` polls with a yield of the core between them. After that it is time to sleep.
/// With a spin time of zero there are no polls and no yields: after the look that every wait begins with, the thread
/// sleeps.
pub(crate) struct Spinner<'p> {
    policy: &'p WaitPolicy,
    /// How long the second phase lasts.
    spin: Duration,
    /// The polls so far. In the second phase the number goes round, from `HOT_POLLS` up to the next multiple of
    /// `POLLS_PER_CLOCK_READ`.
    polls: u32,
    /// The yields so far, in the third phase.
    yields: u32,
    /// The policy's number of calls of `stop_spinning` when the wait began.
    spin_epoch: u32,
    /// Whether the thread that this one waits for may be queued on the same CPU, behind this very thread, although the
    /// workers are bound. See `pause`.
    yields_between: bool,
    /// Whether the bees that this one waits for are more than there are CPUs.
    is_short_of_cpus: bool,
    /// Whether the thread sleeps at once where another one goes on and on on its CPU (`shared_cpu.rs`).
    leaves_shared_cpu: bool,
    /// When the second phase ends. None: the clock has not been read yet, or the phase has no end.
    deadline: Option<Instant>,
    /// When the clock was read last, which is not long ago. None: it has not been read yet.
    pub(crate) last_seen: Option<Instant>,
}

impl Spinner<'_> {
    /// The same for a wait for others of a team of `bees`. If these are more than there are CPUs, nobody polls, even
    /// while so many of them sleep that the others have a CPU each: they want one as soon as the wait is over.
    #[inline(always)]
    fn in_team(self, bees: u32) -> Self {
        if bees as usize <= self.policy.cpus.get() {
            return self;
        }
        Self { polls: AFTER_POLLS, is_short_of_cpus: true, ..self }
    }

    /// The same for a worker that is in no task: see `HOT_POLLS_OF_POOL` and `shared_cpu.rs`. A hive's workers are
    /// bound, or yield to a queen whose part of a region ends soon. A thread that waits in the middle of a task has
    /// more to lose by a yield, and who has nothing to do makes room for others.
    #[inline(always)]
    fn between_tasks(self) -> Self {
        if !self.policy.has_no_queen {
            return self;
        }
        Self { leaves_shared_cpu: self.policy.is_learning, ..self.with_hot_polls_of_pool() }
    }

    /// The same with no more than `HOT_POLLS_OF_POOL` polls in the first phase.
    #[inline(always)]
    fn with_hot_polls_of_pool(self) -> Self {
        Self { polls: self.polls.max(HOT_POLLS - HOT_POLLS_OF_POOL), ..self }
    }

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
        // Polling would be useless or is not wanted: go on to the third phase at once.
        if self.is_short_of_cpus || self.policy.is_oversubscribed() || self.is_told_to_stop() {
            return self.yield_once();
        }
        self.polls += 1;
        // Most polls of the second phase only execute a PAUSE. The rest of this function runs at every
        // POLLS_PER_CLOCK_READ-th, and in the third phase at each.
        if self.yields == 0 && self.polls % POLLS_PER_CLOCK_READ != 0 {
            return !self.pause();
        }
        // Back to the beginning of this phase, so that the number does not overflow in an endless wait.
        self.polls = HOT_POLLS;
        self.policy.abort_if_forked();
        if self.spin == Duration::MAX || self.policy.keeps_spinning() {
            // The third phase, if it has begun, is to begin anew.
            (self.deadline, self.yields) = (None, 0);
            self.policy.cpus.look_seldom();
            return true;
        }
        let now = Instant::now();
        self.last_seen = Some(now);
        // A spin time beyond the range of the clock is endless.
        self.deadline = self.deadline.or_else(|| now.checked_add(self.spin));
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            // The thread waited for may be a worker that needs this CPU: once, before the first yield, move off it. Who
            // sleeps at once leaves the CPU anyhow.
            if self.yields == 0 && !self.policy.spin.is_zero() {
                self.policy.give_way_to_workers();
            }
            return self.yield_once();
        }
        // Yields until now were for want of CPUs.
        self.yields = 0;
        self.policy.yield_to_worker();
        true
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

    /// How long the wait has lasted, if the clock has been read since the last poll.
    #[inline(always)]
    pub(crate) fn time_waited(&self) -> Option<Duration> {
        if self.polls != HOT_POLLS { None } else { self.last_seen?.checked_duration_since(self.began()?) }
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
    /// and on, or because yields do not pay.
    #[inline(always)]
    fn pause(&self) -> bool {
        if self.leaves_shared_cpu {
            return shared_cpu::yield_and_look();
        }
        if self.yields_between || self.policy.has_unbound_worker() {
            // Whoever has asked for some time of polling gets it.
            if self.policy.is_learning && !self.policy.keeps_spinning() {
                return !self.policy.yield_if_it_pays();
            }
            yield_now();
            return false;
        }
        spin_loop();
        false
    }

    /// One step of the third phase: yields the core, if that pays. Returns whether to poll again.
    fn yield_once(&mut self) -> bool {
        self.policy.abort_if_forked();
        let is_to_poll = self.yields < MAX_YIELDS && self.policy.yield_if_it_pays();
        if is_to_poll {
            self.yields += 1;
        } else {
            self.yields = MAX_YIELDS;
            self.policy.cpus.look();
        }
        is_to_poll
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cpu_mask::CpuMask;

    #[test]
    fn a_spinner_ends_after_the_spin_time_and_not_before() {
        let policy = WaitPolicy::new(Duration::from_millis(5), None, usize::MAX, CpuMask::new());
        let start = Instant::now();
        let mut spinner = policy.spinner();
        while spinner.spin_once() {}
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    fn polls(mut spinner: Spinner<'_>) -> u32 {
        (0..).take_while(|_| spinner.spin_once()).count() as u32
    }

    #[test]
    fn with_a_spin_time_of_zero_nobody_polls_or_yields() {
        let policy = || WaitPolicy::new(Duration::ZERO, None, usize::MAX, CpuMask::new());
        let (hive, mut pool) = (policy(), policy());
        pool.has_no_queen = true;
        let of_hive =
            [hive.spinner(), hive.spinner_in_team(2), hive.spinner_for_sleepers(2), hive.spinner_beside_team()];
        let of_pool = [pool.worker_spinner(0, Duration::MAX), pool.spinner_after_task()];
        let of_outsider = pool.spinner_of_outsider(Duration::MAX);
        assert!(of_hive.into_iter().chain(of_pool).chain([of_outsider]).all(|spinner| polls(spinner) == 0));
        assert!(!hive.yield_if_it_pays());
        let _section = hive.keep_spinning();
        let mut spinner = hive.spinner();
        assert!((0..10 * HOT_POLLS).all(|_| spinner.spin_once()), "unless the program asks for it");
    }

    #[test]
    fn a_limit_of_zero_leaves_the_first_polls_and_some_yields() {
        let mut policy = WaitPolicy::new(Duration::MAX, None, usize::MAX, CpuMask::new());
        policy.has_no_queen = true;
        // Each of them may be one that does not pay.
        let yields = 0..=POLLS_PER_CLOCK_READ - 1 + MAX_YIELDS;
        assert!(yields.contains(&(polls(policy.spinner_of_outsider(Duration::ZERO)) - HOT_POLLS_OF_POOL)));
        assert!(yields.contains(&(polls(policy.worker_spinner(0, Duration::ZERO)) - HOT_POLLS_OF_POOL)));
        assert_eq!(polls(policy.spent_spinner()), 0);
    }

    #[test]
    fn a_team_larger_than_the_cpus_polls_only_while_it_yields() {
        let policy = WaitPolicy::new(Duration::MAX, None, 1_000_000, CpuMask::new());
        assert!(polls(policy.spinner_in_team(u32::MAX)) <= MAX_YIELDS);
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
