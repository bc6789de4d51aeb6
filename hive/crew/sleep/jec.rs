//! Sleep by the jobs event counter, as Rayon has it: a member that is about to sleep announces it, searches once more, and sleeps if nothing has been posted in
//! between. Who posts wakes as many as are needed beyond those who search already, and the woken wake more.

use super::counters::Counters;
use super::{Announced, Protocol};

pub(super) struct Jec {
    counters: Counters,
}

impl Jec {
    pub(super) fn new() -> Self {
        Self { counters: Counters::new() }
    }
}

impl Protocol for Jec {
    fn search(&self, _me: u32) {
        // Step: inactive
        self.counters.add_inactive();
    }

    /// The last who searches looks whether more has been posted than it takes: those who posted took its search for enough, and nobody else is left to
    /// find out.
    fn find(&self, _me: u32) -> bool {
        // Step: inactive
        let left = self.counters.remove_inactive();
        left.sleeping() > 0 && left.searching() == 0
    }

    /// Makes the count of events even, and remembers it as it is then: were it what it was before, the member would take its own step for an event.
    fn announce(&self, _me: u32) -> Option<Announced> {
        // Step: event
        Some(Announced(self.counters.count_event(false).events()))
    }

    fn fall_asleep(&self, announced: Announced) -> bool {
        // Step: sleeping
        self.counters.add_sleeper(announced.0)
    }

    fn rise(&self, _member: u32) {
        // Step: sleeping
        self.counters.remove_sleeper();
    }

    fn park(&self, _member: u32) {
        // Step: inactive, sleeping
        self.counters.remove_inactive_sleeper();
    }

    /// None are to be told while there are enough who search.
    fn post(&self, jobs: u32) -> u32 {
        // Step: event
        let now = self.counters.count_event(true);
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
