//! How long a worker polls for the next region before it sleeps, as it learns from the regions before.
//!
//! Polling costs CPU time; a worker that sleeps costs the next region a wake-up. If regions follow each other within
//! the hive's spin time, polling pays: the worker meets the next one. If they mostly do not, it polls no longer than
//! about what a wake-up costs. And for loops that are short beside the gaps between them it pays even less. In such a
//! loop the queen runs the worker's part as well if the worker is not there, or runs the loop alone, so all that
//! polling can gain is the time of that part.
//!
//! `Worker::run` (`protocol/worker/main_loop.rs`) asks for the limit of each wait, and reports each region that has not
//! come at once. Regions that follow one another within a microsecond or two are not timed, and change nothing. In a
//! hive whose spin time the program has chosen, workers poll for as long as they have been told to.
//!
//! From the same waits each worker learns whether to sleep unbound (`docs/unbound-sleep.md`).

use std::time::{Duration, Instant};

use crate::sys::part_time::{COST_OF_WAKING, PartTime};
use crate::sys::spinner::Spinner;
use crate::sys::wait::WaitPolicy;

/// For loops, polling pays up to so many times the length of the worker's part.
const GAP_PER_PART: u32 = 8;

/// A region that comes later than so many spin times counts as two that come late.
const SPIN_TIMES_OF_TWO: u32 = 8;

/// The highest score, and the lowest one with which a worker polls for the whole spin time.
const MAX_SCORE: u8 = 7;
const GOOD_SCORE: u8 = 4;

/// After how many cold regions in a row with short parts a worker sleeps unbound.
const SHORT_REGIONS: u8 = 2;

/// What one worker has learned.
pub(crate) struct PollTime {
    /// The spin time of the hive.
    spin: Duration,
    /// Whether the worker may poll for less than that.
    is_learning: bool,
    /// One more for each region that polling has met, or would have met, and for which that paid; one less for each
    /// other region, or two. From 0 to `MAX_SCORE`.
    score: u8,
    /// How long polling can pay at most, to judge by the last region that was timed.
    limit: Duration,
    /// How many regions have come in a row that had a short part, were no loops, and came later than the spin time,
    /// with no other region between them. Up to `SHORT_REGIONS`.
    short_regions: u8,
    /// When the wait began in which the worker has slept last. None: it has not slept since its last region.
    asleep_since: Option<Instant>,
}

/// A wait that has ended with the start of a region, and was not over at once.
#[derive(Clone, Copy)]
pub(crate) struct TimedWait {
    began: Instant,
    ended: Instant,
    has_slept: bool,
}

impl TimedWait {
    /// Whether the worker has slept.
    pub(crate) fn has_slept(self) -> bool {
        self.has_slept
    }

    /// The part of the region that came after the wait; it has just ended.
    pub(crate) fn part(self) -> PartTime {
        PartTime::since(self.ended)
    }
}

impl PollTime {
    pub(crate) fn new(policy: &WaitPolicy) -> Self {
        let WaitPolicy { spin, is_learning, .. } = *policy;
        Self { spin, is_learning, score: MAX_SCORE, limit: Duration::MAX, short_regions: 0, asleep_since: None }
    }

    /// How long the next wait is to poll at most.
    pub(crate) fn limit(&self) -> Duration {
        match self.score {
            _ if !self.is_learning => Duration::MAX,
            GOOD_SCORE.. => self.limit,
            _ => self.limit.min(COST_OF_WAKING),
        }
    }

    /// Whether the next region probably finds the worker asleep, and needs it for a short time only
    /// (`docs/unbound-sleep.md`).
    pub(crate) fn may_sleep_unbound(&self) -> bool {
        self.is_learning && self.score < GOOD_SCORE && self.short_regions == SHORT_REGIONS
    }

    /// Says that the worker is about to sleep, after it has polled with `spinner`.
    pub(crate) fn begin_sleep(&mut self, spinner: &Spinner<'_>) {
        if self.asleep_since.is_none() {
            self.asleep_since = spinner.began();
        }
    }

    /// Says that the wait has ended with something else than a region, a task for example. It teaches nothing.
    pub(crate) fn forget_wait(&mut self) {
        self.asleep_since = None;
        self.short_regions = 0;
    }

    /// Says that a region has started for which the worker has waited with `spinner`. The caller passes what this
    /// returns to `learn` after the region. None: the region came at once.
    #[inline(always)]
    pub(crate) fn end_wait(&mut self, spinner: &Spinner<'_>) -> Option<TimedWait> {
        if spinner.is_hot() && self.asleep_since.is_none() { None } else { self.end_long_wait(spinner) }
    }

    #[cold]
    fn end_long_wait(&mut self, spinner: &Spinner<'_>) -> Option<TimedWait> {
        match self.asleep_since.take() {
            Some(began) => Some(TimedWait { began, ended: Instant::now(), has_slept: true }),
            // Not the present time: to read the clock once more would delay the region.
            None => Some(TimedWait { began: spinner.began()?, ended: spinner.last_seen?, has_slept: false }),
        }
    }

    /// Learns from the region that came after `wait` and has just ended. `is_loop`: others could have run the worker's
    /// `part` of it. `is_short`: it was no loop, its part was short, and no region came between it and the last
    /// one that was learned from.
    #[cold]
    pub(crate) fn learn(&mut self, wait: TimedWait, part: PartTime, is_loop: bool, is_short: bool) {
        let gap = wait.ended - wait.began;
        let is_alone = is_short && gap > self.spin;
        self.short_regions = if is_alone { SHORT_REGIONS.min(self.short_regions + 1) } else { 0 };
        self.learn_from(gap, is_loop.then_some(part.0));
    }

    /// Learns how long to poll from a region that came after `gap`. `part`: how long the worker's part took, if the
    /// region was a loop; None if it was not.
    fn learn_from(&mut self, gap: Duration, part: Option<Duration>) {
        self.limit = part.map_or(Duration::MAX, |part| part.saturating_mul(GAP_PER_PART));
        self.score = if gap <= self.spin.min(self.limit) {
            MAX_SCORE.min(self.score + 1)
        } else {
            let lost = if gap > self.spin.saturating_mul(SPIN_TIMES_OF_TWO) { 2 } else { 1 };
            self.score.saturating_sub(lost)
        };
    }

    /// Says that the worker has been woken for a loop, and has come too late for it. The queen had reason to think that
    /// its help pays, so it polls for the next one.
    pub(crate) fn note_late_arrival(&mut self) {
        self.asleep_since = None;
        self.limit = Duration::MAX;
        self.score = self.score.max(GOOD_SCORE);
        self.short_regions = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cpu_mask::CpuMask;

    const SPIN: Duration = Duration::from_micros(200);

    fn poll_time(is_learned: bool) -> PollTime {
        let mut policy = WaitPolicy::new(SPIN, None, usize::MAX, CpuMask::new());
        policy.is_learning = is_learned;
        PollTime::new(&policy)
    }

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn workers_poll_for_regions_that_come_soon_enough() {
        let mut learned = poll_time(true);
        for _ in 0..100 {
            learned.learn_from(micros(150), None);
            learned.learn_from(micros(150), None);
            learned.learn_from(micros(1_000), None);
            assert!(learned.limit() > SPIN);
        }
    }

    #[test]
    fn workers_do_not_poll_for_long_if_it_is_mostly_in_vain() {
        let mut learned = poll_time(true);
        let until_short = (0..).find(|_| {
            learned.learn_from(micros(1_000), None);
            learned.limit() == COST_OF_WAKING
        });
        assert_eq!(until_short, Some(3));
        let mut seldom = poll_time(true);
        (0..2).for_each(|_| seldom.learn_from(micros(2_000), None));
        assert_eq!(seldom.limit(), COST_OF_WAKING);
        (0..100).for_each(|_| learned.learn_from(micros(1_000), None));
        // And they learn that regions have become frequent, although they sleep before each.
        let until_long = (0..).find(|_| {
            learned.learn_from(micros(100), None);
            learned.limit() > SPIN
        });
        assert_eq!(until_long, Some(3));
    }

    #[test]
    fn polling_for_a_loop_pays_in_proportion_to_its_length() {
        let mut learned = poll_time(true);
        learned.learn_from(micros(10), Some(micros(20)));
        assert_eq!(learned.limit(), micros(160));
        for _ in 0..10 {
            learned.learn_from(micros(150), Some(micros(2)));
        }
        assert_eq!((learned.score, learned.limit()), (0, micros(16)));
        learned.note_late_arrival();
        assert!(learned.limit() > SPIN);
    }

    #[test]
    fn a_spin_time_that_the_program_has_chosen_stays() {
        let mut fixed = poll_time(false);
        (0..100).for_each(|_| fixed.learn_from(micros(1_000), Some(micros(1))));
        assert!(fixed.limit() > SPIN);
    }
}
