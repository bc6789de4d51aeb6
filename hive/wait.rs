//! How long a waiting thread polls before it sleeps: measured in time, because a PAUSE takes from 10 to 140 cycles.

use std::hint::spin_loop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Polls made back to back, without PAUSE and without a look at the clock: a microsecond or two, in which a hot region
/// begins and ends. A PAUSE would add up to its own length to each hand-over.
const HOT_POLLS: u32 = 2_000;

/// Polls between two looks at the clock, which takes 20 ns or more.
const POLLS_PER_LOOK: u32 = 16;

/// Polls with a `sched_yield` between them, before sleeping: a thread that was only waiting for this core gets it.
const YIELDS: u32 = 16;

/// Bees of all hives that are on a core, or want to be. Changed when a bee goes to sleep and when it comes back only.
static AWAKE_BEES: AtomicUsize = AtomicUsize::new(0);

/// What a hive's members do while they wait.
#[derive(Debug)]
pub(crate) struct WaitPolicy {
    spin: Duration,
    cpus: usize,
    pauses_per_step: u32,
}

impl WaitPolicy {
    /// Members poll for `spin` and sleep afterwards; on `cpus` CPUs, as far as this process may use them.
    pub(crate) fn new(spin: Duration, cpus: usize) -> Self {
        Self { spin, cpus, pauses_per_step: pauses_per_step() }
    }

    /// Lets a cache line be for one step of a [`Hold`].
    #[inline(always)]
    pub(crate) fn hold_once(&self) {
        (0..self.pauses_per_step).for_each(|_| spin_loop());
    }

    /// The patience of one wait.
    #[inline(always)]
    pub(crate) fn patience(&self) -> Patience<'_> {
        let polls = if self.crowded() { HOT_POLLS } else { 0 };
        Patience { policy: self, fresh: true, polls, yields: 0, deadline: None }
    }

    /// Marks the calling bee as gone from its core while `sleep` runs.
    pub(crate) fn off_core(&self, sleep: impl FnOnce()) {
        let _off = Counted::down();
        sleep();
    }

    /// Counts the calling bee among those awake for as long as the guard lives.
    pub(crate) fn on_core(&self) -> impl Drop + use<> {
        Counted::up()
    }

    /// Whether more threads want a core than there are: the bees awake and the queen. Then a spinning waiter keeps off
    /// the core the very thread that it waits for.
    #[inline(always)]
    fn crowded(&self) -> bool {
        // Relaxed: a hint; nothing is read on the strength of it.
        AWAKE_BEES.load(Ordering::Relaxed) + 1 > self.cpus
    }
}

/// A change of `AWAKE_BEES` by one, undone on drop.
struct Counted {
    up: bool,
}

impl Counted {
    fn up() -> Self {
        // Relaxed: a hint, see `crowded`.
        AWAKE_BEES.fetch_add(1, Ordering::Relaxed);
        Self { up: true }
    }

    fn down() -> Self {
        // Relaxed: a hint, see `crowded`.
        AWAKE_BEES.fetch_sub(1, Ordering::Relaxed);
        Self { up: false }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Relaxed: a hint, see `crowded`.
        if self.up {
            AWAKE_BEES.fetch_sub(1, Ordering::Relaxed);
        } else {
            AWAKE_BEES.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The patience of one wait: polls hot, then with pauses until the policy's spin time is over, then yields, then is over.
pub(crate) struct Patience<'p> {
    policy: &'p WaitPolicy,
    fresh: bool,
    polls: u32,
    yields: u32,
    /// None: the clock has not been looked at yet, or spinning never ends.
    deadline: Option<Instant>,
}

impl Patience<'_> {
    /// Whether no poll has been in vain yet.
    #[inline(always)]
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Call after a poll that found nothing. Says whether to poll again; if not, it is time to sleep.
    #[inline(always)]
    pub(crate) fn poll_again(&mut self) -> bool {
        self.fresh = false;
        if self.polls < HOT_POLLS {
            self.polls += 1;
            return true;
        }
        self.poll_again_later()
    }

    #[cold]
    fn poll_again_later(&mut self) -> bool {
        if self.policy.crowded() {
            return self.yield_core();
        }
        self.polls += 1;
        if !self.polls.is_multiple_of(POLLS_PER_LOOK) {
            spin_loop();
            return true;
        }
        // Wraps back to the start of this phase, so that an endless spin does not overflow.
        self.polls = HOT_POLLS;
        if self.policy.spin == Duration::MAX {
            return true;
        }
        let now = Instant::now();
        match self.deadline {
            Some(deadline) if now >= deadline => self.yield_core(),
            Some(_) => true,
            None => {
                // A spin time beyond the clock's range is endless.
                self.deadline = now.checked_add(self.policy.spin);
                true
            }
        }
    }

    fn yield_core(&mut self) -> bool {
        self.yields += 1;
        yield_now();
        self.yields <= YIELDS
    }
}

/// How long one thread lets a cache line be, after it has written to it what another waits for, before it polls that line for the
/// answer.
///
/// A poll takes the line away from whoever holds it. One that comes while the other is about to write its answer costs both
/// of them a transfer, about half a round trip each. So the first poll should come just when the answer is there, and when that is
/// depends on the machine and on the work. It is learnt: a first poll in vain makes the hold longer by a step; many first polls in
/// a row that found the answer make it shorter. It is bounded, so what comes at other times is found as soon.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    steps: u32,
    found: u32,
}

impl Hold {
    /// The longest hold.
    const MOST_STEPS: u32 = 6;

    /// First polls in a row that must have found the answer before a shorter hold is tried.
    const FOUND_BEFORE_LESS: u32 = 32;

    /// Lets the line be.
    #[inline(always)]
    pub(crate) fn keep(&self, policy: &WaitPolicy) {
        for _ in 0..self.steps * policy.pauses_per_step {
            spin_loop();
        }
    }

    /// Learns whether the first poll after the hold `found` the answer.
    #[inline(always)]
    pub(crate) fn learn(&mut self, found: bool) {
        if !found {
            self.found = 0;
            self.steps = (self.steps + 1).min(Self::MOST_STEPS);
        } else {
            self.found += 1;
            if self.found == Self::FOUND_BEFORE_LESS {
                self.found = 0;
                self.steps = self.steps.saturating_sub(1);
            }
        }
    }
}

/// The PAUSEs that take about 40 ns, a third of a round trip between neighbouring cores: from 1 to 16, by processor.
fn pauses_per_step() -> u32 {
    const STEP: Duration = Duration::from_nanos(40);
    const SAMPLE: u32 = 128;
    static MEASURED: OnceLock<u32> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        let sample = || {
            let start = Instant::now();
            (0..SAMPLE).for_each(|_| spin_loop());
            start.elapsed()
        };
        // The least of a few: this thread may have lost its core in one.
        let least = (0..5).map(|_| sample()).min().unwrap_or_default().as_nanos().max(1);
        let pauses = (STEP.as_nanos() * u128::from(SAMPLE) + least / 2) / least;
        pauses.clamp(1, 16) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_grows_at_once_shrinks_slowly_and_is_bounded() {
        let mut hold = Hold::default();
        (0..100).for_each(|_| hold.learn(false));
        assert_eq!(hold.steps, Hold::MOST_STEPS);
        (1..Hold::FOUND_BEFORE_LESS).for_each(|_| hold.learn(true));
        assert_eq!(hold.steps, Hold::MOST_STEPS);
        hold.learn(true);
        assert_eq!(hold.steps, Hold::MOST_STEPS - 1);
        (0..1_000).for_each(|_| hold.learn(true));
        assert_eq!(hold.steps, 0);
    }

    #[test]
    fn patience_runs_out_after_the_spin_time_and_not_before() {
        let policy = WaitPolicy::new(Duration::from_millis(5), usize::MAX);
        let start = Instant::now();
        let mut patience = policy.patience();
        while patience.poll_again() {}
        assert!(start.elapsed() >= Duration::from_millis(5));
        assert!(!patience.is_fresh());
    }

    #[test]
    fn an_endless_spin_does_not_end() {
        let policy = WaitPolicy::new(Duration::MAX, usize::MAX);
        let mut patience = policy.patience();
        assert!((0..10 * HOT_POLLS).all(|_| patience.poll_again()));
    }

    #[test]
    fn where_cpus_are_short_nobody_polls_for_long() {
        let policy = WaitPolicy::new(Duration::MAX, 0);
        let mut patience = policy.patience();
        assert!((0..=YIELDS).any(|_| !patience.poll_again()));
    }
}
