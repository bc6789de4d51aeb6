//! The word of the JEC protocol: the jobs event counter, and the numbers of bees without work. `jec.rs` changes it.

use std::fmt;

use crate::protocol::tasks::demand::{Demand, DemandReading};
use crate::sync::{AtomicU64, Ordering};

/// A value of the word.
///
/// ```text
///   63            48 47            32 31            16 15             0
///  ┌────────────────┬────────────────┬────────────────┬────────────────┐
///  │      asks      │     events     │    inactive    │    sleeping    │
///  └────────────────┴────────────────┴────────────────┴────────────────┘
/// ```
///
/// - `sleeping`: the bees that sleep until another thread wakes them.
/// - `inactive`: the bees without work: those that sleep, and those that search.
/// - `events`: even if a bee has announced that it is sleepy and nothing has been posted since; odd if something has.
///   It wraps.
/// - `asks`: how often a bee has begun to search, or has asked for joins again. It wraps off the top. So the word as a
///   whole changes whenever a bee may have come to want work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SleepCounts(u64);

impl SleepCounts {
    /// One in `sleeping`.
    const SLEEPER: u64 = 1;
    /// One in `inactive`.
    const INACTIVE: u64 = 1 << 16;
    /// One in `events`.
    const EVENT: u64 = 1 << 32;
    /// One in `asks`.
    const ASK: u64 = 1 << 48;
    /// All bits of `asks`.
    const ASKS: u64 = u64::MAX << 48;
    /// All bits of `events`.
    const EVENTS: u64 = Self::ASK - Self::EVENT;

    /// The value that has been read of `JecCounters::demand`.
    pub(crate) fn of(reading: DemandReading) -> Self {
        Self(reading.word())
    }

    /// The bees that are asleep.
    pub(crate) fn sleeping(self) -> u32 {
        u32::from(self.0 as u16)
    }

    /// The bees without work, asleep or not.
    pub(crate) fn inactive(self) -> u32 {
        u32::from((self.0 >> 16) as u16)
    }

    /// The bees that are without work and awake.
    pub(crate) fn searching(self) -> u32 {
        debug_assert!(self.sleeping() <= self.inactive(), "{self:?}");
        self.inactive() - self.sleeping()
    }

    /// The number of events.
    pub(crate) fn events(self) -> u32 {
        u32::from((self.0 / Self::EVENT) as u16)
    }

    /// The word after one more event.
    fn after_event(self) -> Self {
        Self(self.0 & !Self::EVENTS | self.0.wrapping_add(Self::EVENT) & Self::EVENTS)
    }

    /// Whether something has been posted since a bee last announced that it is sleepy.
    pub(crate) fn has_new_jobs(self) -> bool {
        self.events() % 2 == 1
    }
}

impl fmt::Debug for SleepCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sleeping of {} inactive, event {}", self.sleeping(), self.inactive(), self.events())
    }
}

/// The word. Each change keeps `sleeping <= inactive`.
pub(crate) struct JecCounters(AtomicU64);

impl JecCounters {
    /// No bee is without work, and nothing has been posted.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The demand for work.
    pub(crate) fn demand(&self) -> Demand<'_> {
        Demand::by_word(&self.0, SleepCounts::ASKS)
    }

    /// The word as it is now.
    pub(crate) fn read(&self) -> SleepCounts {
        // Relaxed: what must not be missed is ordered by the fences of the bees that post and of those that sleep.
        SleepCounts(self.0.load(Ordering::Relaxed))
    }

    /// Counts a bee that begins to search.
    pub(crate) fn add_inactive(&self) {
        // Relaxed: a count; it publishes nothing.
        let before = SleepCounts(self.0.fetch_add(SleepCounts::ASK + SleepCounts::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.inactive() < u32::from(u16::MAX), "one more inactive than there can be: {before:?}");
    }

    /// Takes off a bee that searches, and returns the word as it is after that.
    pub(crate) fn remove_inactive(&self) -> SleepCounts {
        // Relaxed: a count; it publishes nothing.
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.sleeping() < before.inactive(), "one fewer inactive than asleep: {before:?}");
        SleepCounts(before.0 - SleepCounts::INACTIVE)
    }

    /// Counts a sleeper as awake. It stays inactive, because it searches.
    pub(crate) fn remove_sleeper(&self) {
        // Relaxed: a count; it publishes nothing.
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }

    /// Takes off a sleeper that has been parked: it neither sleeps nor searches any more.
    pub(crate) fn remove_inactive_sleeper(&self) {
        // Relaxed: a count; it publishes nothing.
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::INACTIVE + SleepCounts::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "parked without having slept: {before:?}");
    }

    /// Counts a bee that searches as a sleeper if the number of events is still `events`. Returns whether it was.
    pub(crate) fn try_add_sleeper(&self, events: u32) -> bool {
        // One step: compares the events and adds the sleeper.
        let add = |now: u64| (SleepCounts(now).events() == events).then(|| now + SleepCounts::SLEEPER);
        // Relaxed, both: the fence that the caller executes next orders it.
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        debug_assert!(
            before.is_ok_and(|before| SleepCounts(before).sleeping() < SleepCounts(before).inactive())
                || before.is_err()
        );
        before.is_ok()
    }

    /// Counts that a bee that searches asks for joins again.
    pub(crate) fn add_ask(&self) {
        // Relaxed: a count; it publishes nothing.
        self.0.fetch_add(SleepCounts::ASK, Ordering::Relaxed);
    }

    /// Counts an event if that makes the number of events odd, or even if `odd` is false. Returns the word as it is
    /// after that.
    pub(crate) fn make_event_parity(&self, odd: bool) -> SleepCounts {
        let count = |now: u64| (SleepCounts(now).has_new_jobs() != odd).then(|| SleepCounts(now).after_event().0);
        // Relaxed, both: what must not be missed is ordered by the fences of the bees that post and of those that
        // sleep.
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) {
            Ok(before) => SleepCounts(before).after_event(),
            // The parity is right already, and nothing was written.
            Err(now) => SleepCounts(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_alternate_between_sleepy_bees_and_new_jobs() {
        let counters = JecCounters::new();
        assert_eq!(counters.make_event_parity(false).events(), 0, "even already");
        assert_eq!(counters.make_event_parity(true).events(), 1);
        assert_eq!(counters.make_event_parity(true).events(), 1, "odd already");
        assert_eq!(counters.make_event_parity(false).events(), 2);
    }

    #[test]
    fn no_bee_sleeps_through_an_event() {
        let counters = JecCounters::new();
        counters.add_inactive();
        let token = counters.make_event_parity(false).events();
        counters.make_event_parity(true);
        assert!(!counters.try_add_sleeper(token));
        let token = counters.make_event_parity(false).events();
        assert!(counters.try_add_sleeper(token));
        assert_eq!((counters.read().sleeping(), counters.read().inactive()), (1, 1));
        counters.remove_sleeper();
        counters.remove_inactive();
        assert_eq!((counters.read().sleeping(), counters.read().inactive()), (0, 0));
    }

    #[test]
    fn events_wrap_without_touching_the_counts() {
        let counts = 3 * SleepCounts::INACTIVE + 2;
        let counters = JecCounters(AtomicU64::new(7 * SleepCounts::ASK + SleepCounts::EVENTS + counts));
        let reading = counters.make_event_parity(false);
        assert_eq!((reading.events(), reading.inactive(), reading.sleeping()), (0, 3, 2));
        assert_eq!(reading.0, 7 * SleepCounts::ASK + counts);
    }

    #[test]
    fn the_word_changes_with_each_bee_that_comes_to_want_work() {
        let counters = JecCounters::new();
        counters.add_inactive();
        counters.make_event_parity(true);
        let mut words = vec![counters.read().0];
        for ask in 0..100_000 {
            if ask % 3 == 0 {
                // It has found work, and has done it.
                counters.remove_inactive();
                counters.add_inactive();
            } else {
                counters.add_ask();
            }
            let now = counters.read();
            assert_eq!((now.events(), now.inactive(), now.sleeping()), (1, 1, 0));
            words.push(now.0);
        }
        words.truncate(1 << 16);
        words.sort_unstable();
        assert!(words.is_sorted_by(|word, next| word < next));
    }
}
