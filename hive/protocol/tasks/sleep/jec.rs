//! Sleep by the jobs event counter (JEC), after Rayon's present design. A bee that is about to sleep announces that,
//! searches once more, and sleeps if nothing has been posted in between. A bee that posts tasks wakes as many sleepers
//! as are needed beyond the bees that search already, and those that are woken wake more. See `docs/sleep.md`.

use crate::protocol::tasks::demand::Demand;
use crate::protocol::tasks::sleep::jec_counters::JecCounters;
use crate::protocol::tasks::sleep::{SleepAlgorithm, SleepToken};

/// The protocol. All it knows is in the counters.
pub(crate) struct Jec {
    counters: JecCounters,
}

impl Jec {
    /// Without any bee.
    pub(crate) fn new() -> Self {
        Self { counters: JecCounters::new() }
    }

    /// The demand for work.
    pub(crate) fn demand(&self) -> Demand<'_> {
        self.counters.demand()
    }
}

impl SleepAlgorithm for Jec {
    fn begin_search(&self, _me: u32) {
        // Step: inactive
        self.counters.add_inactive();
    }

    /// The last bee that searches has to look whether more has been posted than it takes: those that have posted relied
    /// on its search, and no other bee is left to find out.
    fn end_search(&self, _me: u32) -> bool {
        // Step: inactive
        let remaining = self.counters.remove_inactive();
        remaining.sleeping() > 0 && remaining.searching() == 0
    }

    /// Makes the number of events even, and remembers the number that results. If it remembered the one from before,
    /// the bee would take its own step for an event.
    fn announce_sleepy(&self, _me: u32) -> Option<SleepToken> {
        // Step: event
        Some(SleepToken(self.counters.make_event_parity(false).events()))
    }

    /// Fails if there has been an event: a bee that has posted since has made the number odd.
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

    /// As many bees are told as there are tasks, less those that search already, which will find some of them.
    fn announce_jobs(&self, jobs: u32) -> u32 {
        // The word is only read if the number of events is odd already.
        // Step: event
        let now = self.counters.make_event_parity(true);
        jobs.saturating_sub(now.searching()).min(now.sleeping())
    }

    /// A woken bee counts as searching, so `end_search` sees to tasks that no bee was woken for.
    fn wakes_by_tree(&self) -> bool {
        true
    }

    fn ask(&self) {
        self.counters.add_ask();
    }

    fn inactive(&self) -> u32 {
        self.counters.read().inactive()
    }
}
