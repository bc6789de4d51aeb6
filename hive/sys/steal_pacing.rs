//! How often a worker without work steals.
//!
//! A steal costs the thief some hundred nanoseconds, and its victim about as much: the task, and what it works on, have
//! to come from the core where they were made, and the victim has to wait for the thief where it would have run the
//! task itself. So a task that takes no longer than all that is better left to its owner. A program with many short
//! joins in a row, each of which begins when the one before has ended, offers one such task after the other, and a
//! thief that is quick to take each of them makes it several times slower.
//!
//! So a worker measures what its steals bring. After one that brought too little, it steals nothing for a while: first
//! for as long as the steal took, then twice as long each time, up to the time that it would take to come if it slept.
//! After a steal that paid it begins with short pauses again. It measures only tasks that it has stolen one at a time;
//! where a deque has many, it takes several at once, and they cost less. What a task waits for other bees is not part
//! of its work: two bees that steal the halves of one small recursion from each other wait most of the time.
//!
//! An owner that is in the middle of something long, or is blocked, or has no CPU, does not come to its tasks, however
//! short they are. So a steal is not measured if its victim has begun no task and offered none since this worker last
//! stole from it: whoever is robbed of many tasks then is robbed without pauses from the second one on.
//!
//! The worker still runs what comes from outside and what only it may run, and before it sleeps it looks into all
//! deques. So every task is run; which bee runs it, and within these limits when, is all that changes.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::sys::part_time::COST_OF_WAKING;

/// A steal pays if the stolen task took at least so many times as long as the steal. The steal itself is the lesser
/// part of what it costs: its victim offers the task and waits for its result, both bees tell the sleep protocol what
/// they do, and the task and its data are fetched by one from the other. Who steals half of a recursion that takes 4 us
/// in all gains nothing.
const WORK_PER_STEAL: u32 = 12;

/// The same for a task whose owner has others: it does not wait for the thief before it has run them.
const WORK_PER_STEAL_OF_MANY: u32 = 4;

/// How long the worker steals nothing after the first look into a deque that was empty already, about as long as a
/// steal takes.
const SHORTEST_VAIN_PAUSE: Duration = Duration::from_nanos(500);

/// What one worker knows of its steals.
#[derive(Default)]
pub(crate) struct StealPacing {
    /// How long the last pause was. Zero: a steal has paid since.
    pause: Cell<Duration>,
    /// Until when it steals nothing. None: it may steal now.
    until: Cell<Option<Instant>>,
    /// The last steal, from its end until the stolen task begins.
    last_steal: Cell<Option<TimedSteal>>,
    /// How many stolen tasks that are measured the worker is in the middle of.
    measured_depth: Cell<u32>,
    /// How long the worker has waited in such tasks, and had nothing to run meanwhile, since it exists.
    waited: Cell<Duration>,
    /// The victim of the last steal, and what `BeeCounters::progress` was there.
    last_victim: Cell<Option<(u32, u64)>>,
}

/// A steal of one task.
#[derive(Clone, Copy)]
pub(crate) struct TimedSteal {
    took: Duration,
    /// How many times as long the task has to take if the steal is to pay.
    work_per_steal: u32,
    ended: Instant,
    /// What `StealPacing::waited` was when the stolen task began.
    waited: Duration,
}

impl StealPacing {
    /// Whether bee `victim`, from which a task has just been stolen, has done anything since the last steal, if that
    /// was from the same bee. If not, pauses begin short again, as after a steal that has paid. `progress`: what
    /// `BeeCounters::progress` is there now.
    pub(crate) fn is_owner_at_work(&self, victim: u32, progress: u64) -> bool {
        let this_one = Some((victim, progress));
        let is_at_work = self.last_victim.replace(this_one) != this_one;
        if !is_at_work {
            self.pause.set(Duration::ZERO);
        }
        is_at_work
    }

    /// Whether the worker may steal now. Calls `end_pause` if it may again.
    #[inline(always)]
    pub(crate) fn may_steal(&self, end_pause: impl FnOnce()) -> bool {
        self.until.get().is_none() || self.is_pause_over(end_pause)
    }

    #[cold]
    fn is_pause_over(&self, end_pause: impl FnOnce()) -> bool {
        let is_over = self.until.get().is_none_or(|until| Instant::now() >= until);
        if is_over {
            self.until.set(None);
            end_pause();
        }
        is_over
    }

    /// Whether a pause has begun and has not been found to be over.
    pub(crate) fn is_paused(&self) -> bool {
        self.until.get().is_some()
    }

    /// Calls `steal`, and takes the time if `is_lone` says afterwards that it has brought one task, which its owner
    /// might have come to. `was_last`: whether its owner has no others.
    #[inline(always)]
    pub(crate) fn measure<T>(
        &self,
        steal: impl FnOnce() -> Option<T>,
        is_lone: impl FnOnce() -> bool,
        was_last: impl FnOnce() -> bool,
    ) -> Option<T> {
        let began = Instant::now();
        let stolen = steal();
        if stolen.is_some() && is_lone() {
            let ended = Instant::now();
            let work_per_steal = if was_last() { WORK_PER_STEAL } else { WORK_PER_STEAL_OF_MANY };
            let (took, waited) = (ended - began, Duration::ZERO);
            self.last_steal.set(Some(TimedSteal { took, work_per_steal, ended, waited }));
        }
        stolen
    }

    /// The steal that has brought the task that is about to run, if that was stolen alone. What this returns is passed
    /// to `learn` after the task.
    #[inline(always)]
    pub(crate) fn begin_task(&self) -> Option<TimedSteal> {
        // The usual task was not stolen, and costs one look.
        if self.last_steal.get().is_none() { None } else { self.begin_measured_task() }
    }

    #[cold]
    fn begin_measured_task(&self) -> Option<TimedSteal> {
        self.measured_depth.set(self.measured_depth.get() + 1);
        // A wait in which this steal came has ended, so `waited` includes it. What comes later is subtracted.
        self.last_steal.take().map(|steal| TimedSteal { waited: self.waited.get(), ..steal })
    }

    /// Forgets the last steal: the task is not run as one. (The worker has stolen back what it waits for.)
    pub(crate) fn forget_steal(&self) {
        self.last_steal.set(None);
    }

    /// Runs `wait`, in which the worker waits and runs nothing.
    #[inline(always)]
    pub(crate) fn while_waiting<R>(&self, wait: impl FnOnce() -> R) -> R {
        if self.measured_depth.get() == 0 {
            return wait();
        }
        let began = Instant::now();
        let result = wait();
        self.waited.set(self.waited.get() + began.elapsed());
        result
    }

    /// Says that the worker has looked into a deque that was to have tasks, and that its owner has emptied meanwhile.
    /// The owner loses the deque's cache lines by that, and is faster with its tasks than this worker is with looking.
    #[cold]
    pub(crate) fn note_vain_look(&self) {
        self.pause_from(Instant::now(), SHORTEST_VAIN_PAUSE);
    }

    /// Steals nothing from `now` on: for twice as long as the last time, but for `shortest` at least, and for
    /// `COST_OF_WAKING` at most.
    fn pause_from(&self, now: Instant, shortest: Duration) {
        let pause = (self.pause.get() * 2).clamp(shortest.min(COST_OF_WAKING), COST_OF_WAKING);
        self.pause.set(pause);
        self.until.set(now.checked_add(pause));
    }

    /// Learns from the task that `steal` has brought, and that has just ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn learn(&self, steal: TimedSteal) {
        let now = Instant::now();
        self.measured_depth.set(self.measured_depth.get() - 1);
        let waited = self.waited.get() - steal.waited;
        self.learn_from(steal.took, steal.work_per_steal, (now - steal.ended).saturating_sub(waited), now);
    }

    /// The same. `steal`: how long the steal took; `work`: how long the task worked.
    fn learn_from(&self, steal: Duration, work_per_steal: u32, work: Duration, now: Instant) {
        if work >= steal.saturating_mul(work_per_steal) {
            self.pause.set(Duration::ZERO);
        } else {
            self.pause_from(now, steal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEAL: Duration = Duration::from_nanos(500);

    #[test]
    fn a_steal_that_does_not_pay_is_followed_by_a_pause_that_grows() {
        let (pacing, now) = (StealPacing::default(), Instant::now());
        let pauses = [(); 9].map(|()| {
            pacing.learn_from(STEAL, 4, STEAL * 3, now);
            pacing.until.get().unwrap() - now
        });
        assert_eq!(pauses[..7].to_vec(), (0..7).map(|doublings| STEAL * (1 << doublings)).collect::<Vec<_>>());
        assert_eq!(pauses[7..], [COST_OF_WAKING; 2]);
    }

    #[test]
    fn a_task_that_was_not_stolen_is_not_measured() {
        let pacing = StealPacing::default();
        let steal = || pacing.measure(|| Some(()), || true, || true);
        assert!(steal().is_some() && pacing.begin_task().is_some());
        assert!(pacing.begin_task().is_none());
        steal();
        pacing.forget_steal();
        assert!(pacing.begin_task().is_none());
    }

    #[test]
    fn a_steal_that_pays_ends_the_pauses() {
        let (pacing, now) = (StealPacing::default(), Instant::now());
        (0..5).for_each(|_| pacing.learn_from(STEAL, 4, STEAL * 3, now));
        pacing.until.set(None);
        pacing.learn_from(STEAL, 4, STEAL * 4, now);
        assert!(pacing.may_steal(|| panic!("no pause has ended")));
        pacing.learn_from(STEAL, 4, Duration::ZERO, now);
        assert_eq!(pacing.until.get(), Some(now + STEAL));
    }

    #[test]
    fn a_steal_that_was_interrupted_does_not_make_a_longer_pause() {
        let (pacing, now) = (StealPacing::default(), Instant::now());
        pacing.learn_from(COST_OF_WAKING * 100, 4, STEAL, now);
        assert_eq!(pacing.until.get(), Some(now + COST_OF_WAKING));
    }

    #[test]
    fn the_pause_ends() {
        let pacing = StealPacing::default();
        pacing.learn_from(Duration::from_millis(1), 4, Duration::ZERO, Instant::now());
        let mut ended = 0;
        while !pacing.may_steal(|| ended += 1) {}
        assert!(pacing.may_steal(|| ended += 1));
        assert_eq!(ended, 1);
        assert!(pacing.until.get().is_none());
    }

    #[test]
    fn what_a_stolen_task_waits_is_not_its_work() {
        let pacing = StealPacing::default();
        let sleep = || std::thread::sleep(Duration::from_millis(120));
        // Inside of another stolen task, so that waits are measured.
        pacing.measure(|| Some(()), || true, || true);
        let outer = pacing.begin_task().unwrap();
        for (is_work, pauses) in [(false, true), (true, false)] {
            // The steal ends a wait that was as long.
            pacing.while_waiting(|| {
                sleep();
                pacing.measure(|| Some(()), || true, || true);
            });
            let steal = pacing.begin_task().unwrap();
            if is_work {
                sleep()
            } else {
                pacing.while_waiting(sleep)
            }
            pacing.learn(TimedSteal { took: Duration::from_millis(8), ..steal });
            assert_eq!(pacing.pause.get() > Duration::ZERO, pauses);
        }
        pacing.learn(outer);
        assert_eq!(pacing.measured_depth.get(), 0);
    }

    #[test]
    fn only_a_task_that_was_stolen_alone_is_measured() {
        let pacing = StealPacing::default();
        assert_eq!(pacing.measure(|| Some(1), || false, || true), Some(1));
        assert!(pacing.begin_task().is_none());
        assert_eq!(pacing.measure(|| None::<u32>, || true, || true), None);
        assert!(pacing.begin_task().is_none());
        assert_eq!(pacing.measure(|| Some(2), || true, || true), Some(2));
        assert!(pacing.begin_task().is_some());
        assert!(pacing.begin_task().is_none());
    }

    #[test]
    fn an_owner_that_has_done_nothing_since_the_last_steal_is_not_at_work() {
        let pacing = StealPacing::default();
        let at_work = [(1, 5), (1, 5), (1, 6), (2, 6), (2, 6), (1, 6)].map(|(victim, progress)| {
            pacing.pause.set(COST_OF_WAKING);
            let is_at_work = pacing.is_owner_at_work(victim, progress);
            assert_eq!(pacing.pause.get() > Duration::ZERO, is_at_work);
            is_at_work
        });
        assert_eq!(at_work, [true, false, true, true, false, true]);
    }

    #[test]
    fn the_last_task_of_a_deque_has_to_be_longer_than_one_of_many() {
        let pacing = StealPacing::default();
        let steal_of = |was_last| {
            pacing.measure(|| Some(()), || true, || was_last);
            let steal = pacing.begin_task().unwrap();
            pacing.measured_depth.set(0);
            steal.work_per_steal
        };
        assert_eq!([steal_of(true), steal_of(false)], [WORK_PER_STEAL, WORK_PER_STEAL_OF_MANY]);
    }
}
