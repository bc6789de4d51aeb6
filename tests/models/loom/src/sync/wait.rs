//! A spinner without a clock: a wait polls a fixed number of times before it sleeps.

use std::time::Duration;

use crate::exploration::{self, Phase};
use crate::failure;

/// How long the bees of a modelled hive poll before they sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitPolicy {
    /// A bee polls once more than this number of times, and then sleeps.
    Polls(u32),
    /// Bees never sleep.
    Endless,
}

/// See `exploration::yield_in_wait`.
const EXPLORED_POLLS: u32 = 8;

/// The most polls in one wait. In each, the bee sleeps, finds something, ends the wait, or another thread has done
/// something meanwhile; so a wait with more polls makes no progress.
const MAX_POLLS: u32 = 200;

impl WaitPolicy {
    pub(crate) fn spinner(&self) -> Spinner {
        Spinner { policy: *self, polls: 0 }
    }

    /// The epoch never changes, because no model asks the bees to stop spinning.
    pub(crate) fn spin_epoch(&self) -> u32 {
        0
    }

    pub(crate) fn spinner_since(&self, _: u32) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_after_task(&self) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_for_sleepers(&self) -> Spinner {
        self.spinner()
    }

    /// Sleeping bees do not poll for work, because that would hide a lost wake-up.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        None
    }

    /// In a forked child the library ends the process here. No model forks.
    pub(crate) fn abort_if_forked(&self) {}

    /// In the library the queen leaves the workers' CPUs here. In a model each thread has its own.
    pub(crate) fn migrate_off_worker_cpus(&self) {}

    pub(crate) fn yield_core(&self) {
        exploration::yield_in_wait(EXPLORED_POLLS);
    }

    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        sleep()
    }
}

/// Nothing to do in a model.
pub(crate) fn serialize_poll() {}

/// The spinner of one wait.
pub(crate) struct Spinner {
    policy: WaitPolicy,
    polls: u32,
}

impl Spinner {
    pub(crate) fn is_hot(&self) -> bool {
        false
    }

    pub(crate) fn should_check_tasks(&self) -> bool {
        true
    }

    pub(crate) fn spin_once(&mut self) -> bool {
        match self.policy {
            WaitPolicy::Polls(polls) if exploration::phase() != Phase::Setup => {
                self.polls += 1;
                if self.polls > MAX_POLLS {
                    failure::fail("a wait whose spinner is over goes round, and neither finds anything nor sleeps");
                }
                self.polls <= polls
            }
            // Until the exploration begins, bees that have started do not sleep.
            WaitPolicy::Polls(_) | WaitPolicy::Endless => {
                exploration::yield_in_wait(EXPLORED_POLLS);
                true
            }
        }
    }
}

/// The back-off between two polls takes no time here.
pub(crate) struct BackOff;

impl BackOff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn delay(&mut self) {}
}
