//! Sleep by the jobs event counter, as Rayon has it: a member that is about to sleep announces it, searches once more, and sleeps if nothing has been posted in
//! between. Who posts wakes as many as are needed beyond those who search already, and the woken wake more.

use super::Announced;
use super::counters::Counters;

pub(super) struct Jec {
    counters: Counters,
}

impl Jec {
    pub(super) fn new() -> Self {
        Self { counters: Counters::new() }
    }

    pub(super) fn search(&self) {
        self.counters.add_inactive();
    }

    pub(super) fn find(&self) {
        self.counters.remove_inactive();
    }

    /// Makes the count of events even, and remembers it as it is then: were it what it was before, the member would take its own step for an event.
    pub(super) fn announce(&self) -> Announced {
        Announced(self.counters.count_event(false).events())
    }

    pub(super) fn fall_asleep(&self, announced: Announced) -> bool {
        self.counters.add_sleeper(announced.0)
    }

    pub(super) fn rise(&self) {
        self.counters.remove_sleeper();
    }

    pub(super) fn park(&self) {
        self.counters.remove_inactive_sleeper();
    }

    /// How many to wake for `jobs` new ones: none while there are enough who search.
    pub(super) fn post(&self, jobs: u32) -> u32 {
        let now = self.counters.count_event(true);
        debug_assert!(now.sleeping() <= now.inactive(), "{now:?}");
        let searching = now.inactive() - now.sleeping();
        jobs.saturating_sub(searching).min(now.sleeping())
    }

    #[inline(always)]
    pub(super) fn is_anybody_inactive(&self) -> bool {
        self.counters.read().inactive() > 0
    }
}
