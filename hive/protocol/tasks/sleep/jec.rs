//! Sleep by the jobs event counter (JEC), after Rayon's present design. A bee that is about to sleep announces that,
//! searches once more, and sleeps if nothing has been posted in between. A bee that posts tasks wakes as many sleepers
//! as are needed beyond the bees that search already, and those that are woken wake more. See `docs/sleep.md`.
//!
//! All that the protocol knows is in one word: the jobs event counter, and the numbers of bees without work.

use crate::protocol::tasks::demand::Demand;
use crate::protocol::tasks::sleep::{SleepAlgorithm, SleepToken};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SleepCounts(u64);

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

    /// The bees that are asleep.
    fn sleeping(self) -> u32 {
        u32::from(self.0 as u16)
    }

    /// The bees without work, asleep or not.
    fn inactive(self) -> u32 {
        u32::from((self.0 >> 16) as u16)
    }

    /// The bees that are without work and awake.
    fn searching(self) -> u32 {
        debug_assert!(self.sleeping() <= self.inactive(), "{self:?}");
        self.inactive() - self.sleeping()
    }

    /// The number of events.
    fn events(self) -> u32 {
        u32::from((self.0 / Self::EVENT) as u16)
    }

    /// The word after one more event.
    fn after_event(self) -> Self {
        Self(self.0 & !Self::EVENTS | self.0.wrapping_add(Self::EVENT) & Self::EVENTS)
    }

    /// Whether something has been posted since a bee last announced that it is sleepy.
    fn has_new_jobs(self) -> bool {
        self.events() % 2 == 1
    }
}

/// The protocol: its word, a `SleepCounts`. At first no bee is without work, and nothing has been posted. Each change
/// keeps `sleeping <= inactive`.
#[derive(Default)]
pub(crate) struct Jec(AtomicU64);

impl Jec {
    /// The demand for work.
    pub(crate) fn demand(&self) -> Demand<'_> {
        Demand::by_word(&self.0, SleepCounts::ASKS)
    }

    /// How many bees would like to have work, asleep or not, by what has been read of `demand`.
    pub(crate) fn inactive_at(reading: u64) -> u32 {
        SleepCounts(reading).inactive()
    }

    /// Counts an event if that makes the number of events odd, or even if `odd` is false. Returns the word as it is
    /// after that.
    fn make_event_parity(&self, odd: bool) -> SleepCounts {
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

impl SleepAlgorithm for Jec {
    fn begin_search(&self, _me: u32) {
        // Relaxed: a count; it publishes nothing.
        // Step: inactive
        let before = SleepCounts(self.0.fetch_add(SleepCounts::ASK + SleepCounts::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.inactive() < u32::from(u16::MAX), "one more inactive than there can be: {before:?}");
    }

    /// The last bee that searches has to look whether more has been posted than it takes: those that have posted relied
    /// on its search, and no other bee is left to find out.
    fn end_search(&self, _me: u32) -> bool {
        // Relaxed: a count; it publishes nothing.
        // Step: inactive
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::INACTIVE, Ordering::Relaxed));
        debug_assert!(before.sleeping() < before.inactive(), "one fewer inactive than asleep: {before:?}");
        before.sleeping() > 0 && before.searching() == 1
    }

    /// Makes the number of events even, and remembers the number that results. If it remembered the one from before,
    /// the bee would take its own step for an event.
    fn announce_sleepy(&self, _me: u32) -> Option<SleepToken> {
        // Step: event
        Some(SleepToken(self.make_event_parity(false).events()))
    }

    /// Fails if there has been an event: a bee that has posted since has made the number odd.
    fn try_fall_asleep(&self, token: SleepToken) -> bool {
        // One step: compares the events and adds the sleeper.
        let add = |now: u64| (SleepCounts(now).events() == token.0).then(|| now + SleepCounts::SLEEPER);
        // Relaxed, both: the fence that the caller executes next orders it.
        // Step: sleeping
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).map(SleepCounts);
        debug_assert!(before.ok().is_none_or(|before| before.sleeping() < before.inactive()));
        before.is_ok()
    }

    /// The bee stays inactive, because it searches.
    fn count_woken(&self, _bee: u32) {
        // Relaxed: a count; it publishes nothing.
        // Step: sleeping
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }

    /// The bee neither sleeps nor searches any more.
    fn count_parked(&self, _bee: u32) {
        // Relaxed: a count; it publishes nothing.
        // Step: inactive, sleeping
        let before = SleepCounts(self.0.fetch_sub(SleepCounts::INACTIVE + SleepCounts::SLEEPER, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "parked without having slept: {before:?}");
    }

    /// As many bees are told as there are tasks, less those that search already, which will find some of them.
    fn announce_jobs(&self, jobs: u32) -> u32 {
        // The word is only read if the number of events is odd already.
        // Step: event
        let now = self.make_event_parity(true);
        jobs.saturating_sub(now.searching()).min(now.sleeping())
    }

    /// A woken bee counts as searching, so `end_search` sees to tasks that no bee was woken for.
    fn wakes_by_tree(&self) -> bool {
        true
    }

    fn ask(&self) {
        // Relaxed: a count; it publishes nothing.
        self.0.fetch_add(SleepCounts::ASK, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(jec: &Jec) -> SleepCounts {
        SleepCounts(jec.0.load(Ordering::Relaxed))
    }

    #[test]
    fn events_alternate_between_sleepy_bees_and_new_jobs() {
        let jec = Jec::default();
        assert_eq!(jec.make_event_parity(false).events(), 0, "even already");
        assert_eq!(jec.make_event_parity(true).events(), 1);
        assert_eq!(jec.make_event_parity(true).events(), 1, "odd already");
        assert_eq!(jec.make_event_parity(false).events(), 2);
    }

    #[test]
    fn no_bee_sleeps_through_an_event() {
        let jec = Jec::default();
        jec.begin_search(1);
        let token = jec.announce_sleepy(1).unwrap();
        jec.make_event_parity(true);
        assert!(!jec.try_fall_asleep(token));
        let token = jec.announce_sleepy(1).unwrap();
        assert!(jec.try_fall_asleep(token));
        assert_eq!((counts(&jec).sleeping(), counts(&jec).inactive()), (1, 1));
        jec.count_woken(1);
        jec.end_search(1);
        assert_eq!((counts(&jec).sleeping(), counts(&jec).inactive()), (0, 0));
    }

    #[test]
    fn events_wrap_without_touching_the_counts() {
        let bees = 3 * SleepCounts::INACTIVE + 2;
        let jec = Jec(AtomicU64::new(7 * SleepCounts::ASK + SleepCounts::EVENTS + bees));
        let reading = jec.make_event_parity(false);
        assert_eq!((reading.events(), reading.inactive(), reading.sleeping()), (0, 3, 2));
        assert_eq!(reading.0, 7 * SleepCounts::ASK + bees);
    }

    #[test]
    fn the_word_changes_with_each_bee_that_comes_to_want_work() {
        let jec = Jec::default();
        jec.begin_search(1);
        jec.make_event_parity(true);
        let mut words = vec![counts(&jec).0];
        for ask in 0..100_000 {
            if ask % 3 == 0 {
                // It has found work, and has done it.
                jec.end_search(1);
                jec.begin_search(1);
            } else {
                jec.ask();
            }
            let now = counts(&jec);
            assert_eq!((now.events(), now.inactive(), now.sleeping()), (1, 1, 0));
            words.push(now.0);
        }
        words.truncate(1 << 16);
        words.sort_unstable();
        assert!(words.is_sorted_by(|word, next| word < next));
    }
}
