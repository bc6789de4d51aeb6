//! The jobs event counter and the counts of bees without work, in one word.

use std::fmt;

use crate::sync::{AtomicU64, Ordering};

/// A reading of the word.
///
/// ```text
///   63                              32 31            16 15             0
///  ┌──────────────────────────────────┬────────────────┬────────────────┐
///  │              events              │    inactive    │    sleeping    │
///  └──────────────────────────────────┴────────────────┴────────────────┘
/// ```
///
/// - `sleeping`: bees that sleep until somebody wakes them.
/// - `inactive`: bees without work: those that sleep, and those that search.
/// - `events`: even when a bee has announced that it is sleepy and nothing has been posted since; odd when something has. It wraps off the top.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SleepCounts(u64);

impl SleepCounts {
    const SLEEPER: u64 = 1;
    const INACTIVE: u64 = 1 << 16;
    const EVENT: u64 = 1 << 32;

    pub(crate) fn sleeping(self) -> u32 {
        u32::from(self.0 as u16)
    }

    pub(crate) fn inactive(self) -> u32 {
        u32::from((self.0 >> 16) as u16)
    }

    /// Bees that are without work and up.
    pub(crate) fn searching(self) -> u32 {
        debug_assert!(self.sleeping() <= self.inactive(), "{self:?}");
        self.inactive() - self.sleeping()
    }

    pub(crate) fn events(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether something has been posted since a bee was last sleepy.
    pub(crate) fn has_new_jobs(self) -> bool {
        self.events() % 2 == 1
    }
}

impl fmt::Debug for SleepCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sleeping of {} inactive, event {}", self.sleeping(), self.inactive(), self.events())
    }
}

/// The word. All its changes keep `sleeping <= inactive`.
pub(crate) struct JecCounters(AtomicU64);

impl JecCounters {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> SleepCounts {
        // Relaxed: what must not be missed is ordered by the fences of whoever posts and whoever sleeps.
        SleepCounts(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn add_inactive(&self) {
        // Relaxed: a count; nothing is handed on by it.
        let before = SleepCounts(self.0.fetch_add(SleepCounts::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.inactive() < u32::from(u16::MAX), "one more inactive than there can be: {before:?}");
    }

    /// Returns the word as it is then.
    pub(crate) fn remove_inactive(&self) -> SleepCounts {
        // Relaxed: as above.
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.sleeping() < before.inactive(), "one fewer inactive than asleep: {before:?}");
        SleepCounts(before.0 - SleepCounts::INACTIVE)
    }

    pub(crate) fn remove_sleeper(&self) {
        // Relaxed: as above.
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }

    pub(crate) fn remove_inactive_sleeper(&self) {
        // Relaxed: as above.
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::INACTIVE + SleepCounts::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "parked without having slept: {before:?}");
    }

    /// Adds a sleeper if `events` have not changed since. Says whether.
    pub(crate) fn try_add_sleeper(&self, events: u32) -> bool {
        let add = |now: u64| (SleepCounts(now).events() == events).then(|| now + SleepCounts::SLEEPER);
        // Relaxed: the fence of the caller orders it.
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        debug_assert!(
            before.is_ok_and(|before| SleepCounts(before).sleeping() < SleepCounts(before).inactive())
                || before.is_err()
        );
        before.is_ok()
    }

    /// Counts an event if that makes the count odd, or, if `odd` is false, even. Returns the word as it is then.
    pub(crate) fn make_event_parity(&self, odd: bool) -> SleepCounts {
        let count = |now: u64| (SleepCounts(now).has_new_jobs() != odd).then(|| now.wrapping_add(SleepCounts::EVENT));
        // Relaxed: what must not be missed is ordered by the fences of whoever posts and whoever sleeps.
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) {
            Ok(before) => SleepCounts(before.wrapping_add(SleepCounts::EVENT)),
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
        let counters = JecCounters(AtomicU64::new((u64::from(u32::MAX) << 32) + 3 * SleepCounts::INACTIVE + 2));
        let reading = counters.make_event_parity(false);
        assert_eq!((reading.events(), reading.inactive(), reading.sleeping()), (0, 3, 2));
    }
}
