//! The jobs event counter and the counts of members without work, in one word.

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
/// - `sleeping`: members that sleep until somebody wakes them.
/// - `inactive`: members without work: those that sleep, and those that search.
/// - `events`: even when a member has announced that it is sleepy and nothing has been posted since; odd when something has. It wraps off the top.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading(u64);

impl Reading {
    const SLEEPER: u64 = 1;
    const INACTIVE: u64 = 1 << 16;
    const EVENT: u64 = 1 << 32;

    pub(super) fn sleeping(self) -> u32 {
        u32::from(self.0 as u16)
    }

    pub(super) fn inactive(self) -> u32 {
        u32::from((self.0 >> 16) as u16)
    }

    /// Members that are without work and up.
    pub(super) fn searching(self) -> u32 {
        debug_assert!(self.sleeping() <= self.inactive(), "{self:?}");
        self.inactive() - self.sleeping()
    }

    pub(super) fn events(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether something has been posted since a member was last sleepy.
    pub(super) fn is_posted(self) -> bool {
        self.events() % 2 == 1
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sleeping of {} inactive, event {}", self.sleeping(), self.inactive(), self.events())
    }
}

/// The word. All its changes keep `sleeping <= inactive`.
pub(super) struct Counters(AtomicU64);

impl Counters {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline(always)]
    pub(super) fn read(&self) -> Reading {
        // Relaxed: what must not be missed is ordered by the fences of whoever posts and whoever sleeps.
        Reading(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn add_inactive(&self) {
        // Relaxed: a count; nothing is handed on by it.
        let before = Reading(self.0.fetch_add(Reading::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.inactive() < u32::from(u16::MAX), "one more inactive than there can be: {before:?}");
    }

    /// Returns the word as it is then.
    pub(super) fn remove_inactive(&self) -> Reading {
        // Relaxed: as above.
        let before = Reading(self.0.fetch_sub(Reading::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.sleeping() < before.inactive(), "one fewer inactive than asleep: {before:?}");
        Reading(before.0 - Reading::INACTIVE)
    }

    pub(super) fn remove_sleeper(&self) {
        // Relaxed: as above.
        let before = Reading(self.0.fetch_sub(Reading::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }

    pub(super) fn remove_inactive_sleeper(&self) {
        // Relaxed: as above.
        let before = Reading(self.0.fetch_sub(Reading::INACTIVE + Reading::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "parked without having slept: {before:?}");
    }

    /// Adds a sleeper if `events` have not changed since. Says whether.
    pub(super) fn add_sleeper(&self, events: u32) -> bool {
        let add = |now: u64| (Reading(now).events() == events).then(|| now + Reading::SLEEPER);
        // Relaxed: the fence of the caller orders it.
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        debug_assert!(before.is_ok_and(|before| Reading(before).sleeping() < Reading(before).inactive()) || before.is_err());
        before.is_ok()
    }

    /// Counts an event if that makes the count odd, or, if `odd` is false, even. Returns the word as it is then.
    pub(super) fn count_event(&self, odd: bool) -> Reading {
        let count = |now: u64| (Reading(now).is_posted() != odd).then(|| now.wrapping_add(Reading::EVENT));
        // Relaxed: what must not be missed is ordered by the fences of whoever posts and whoever sleeps.
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) {
            Ok(before) => Reading(before.wrapping_add(Reading::EVENT)),
            Err(now) => Reading(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_alternate_between_the_sleepy_and_those_who_post() {
        let counters = Counters::new();
        assert_eq!(counters.count_event(false).events(), 0, "even already");
        assert_eq!(counters.count_event(true).events(), 1);
        assert_eq!(counters.count_event(true).events(), 1, "odd already");
        assert_eq!(counters.count_event(false).events(), 2);
    }

    #[test]
    fn nobody_sleeps_through_an_event() {
        let counters = Counters::new();
        counters.add_inactive();
        let announced = counters.count_event(false).events();
        counters.count_event(true);
        assert!(!counters.add_sleeper(announced));
        let announced = counters.count_event(false).events();
        assert!(counters.add_sleeper(announced));
        assert_eq!((counters.read().sleeping(), counters.read().inactive()), (1, 1));
        counters.remove_sleeper();
        counters.remove_inactive();
        assert_eq!((counters.read().sleeping(), counters.read().inactive()), (0, 0));
    }

    #[test]
    fn events_wrap_without_touching_the_counts() {
        let counters = Counters(AtomicU64::new((u64::from(u32::MAX) << 32) + 3 * Reading::INACTIVE + 2));
        let reading = counters.count_event(false);
        assert_eq!((reading.events(), reading.inactive(), reading.sleeping()), (0, 3, 2));
    }
}
