//! Sleep by the jobs event counter, as Rayon has it: a bee that is about to sleep announces it, searches once more, and sleeps if nothing has been posted in
//! between. Who posts wakes as many as are needed beyond those who search already, and the woken wake more.

use crate::protocol::tasks::sleep::jec_counters::JecCounters;
use crate::protocol::tasks::sleep::{SleepAlgorithm, SleepToken};

pub(crate) struct Jec {
    counters: JecCounters,
}

impl Jec {
    pub(crate) fn new() -> Self {
        Self { counters: JecCounters::new() }
    }
}

impl SleepAlgorithm for Jec {
    fn begin_search(&self, _me: u32) {
        // Step: inactive
        self.counters.add_inactive();
    }

    /// The last who searches looks whether more has been posted than it takes: those who posted took its search for enough, and nobody else is left to
    /// find out.
    fn end_search(&self, _me: u32) -> bool {
        // Step: inactive
        let remaining = self.counters.remove_inactive();
        remaining.sleeping() > 0 && remaining.searching() == 0
    }

    /// Makes the count of events even, and remembers it as it is then: were it what it was before, the bee would take its own step for an event.
    fn announce_sleepy(&self, _me: u32) -> Option<SleepToken> {
        // Step: event
        Some(SleepToken(self.counters.make_event_parity(false).events()))
    }

    fn try_fall_asleep(&self, token: SleepToken) -> bool {
        // Step: sleeping
        self.counters.try_add_sleeper(token.0)
    }

    fn count_woken(&self, _bee: u32) {
        // Step: sleeping
        self.counters.remove_sleeper();
    }

    fn count_parked(&self, _bee: u32) {
        // Step: inactive, sleeping
        self.counters.remove_inactive_sleeper();
    }

    /// None are to be told while there are enough who search.
    fn announce_jobs(&self, jobs: u32) -> u32 {
        // Step: event
        let now = self.counters.make_event_parity(true);
        jobs.saturating_sub(now.searching()).min(now.sleeping())
    }

    /// Whoever is woken searches, so that `find` sees to those who are not.
    fn wakes_by_tree(&self) -> bool {
        true
    }

    #[inline(always)]
    fn inactive(&self) -> u32 {
        self.counters.read().inactive()
    }
}
