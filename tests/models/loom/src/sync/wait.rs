//! A spinner without a clock.

use std::time::Duration;

use crate::exploration::{self, Phase};
use crate::failure;

/// How long the bees of a modelled hive poll before they sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitPolicy {
    /// This many polls in vain are followed by another.
    Polls(u32),
    /// Nobody sleeps at a poll.
    Endless,
}

/// See `exploration::yield_in_wait`.
const EXPLORED_POLLS: u32 = 8;

/// Rounds of one wait: each sleeps, finds something or ends the wait, or somebody else has done something meanwhile.
const MAX_POLLS: u32 = 200;

impl WaitPolicy {
    pub(crate) fn spinner(&self) -> Spinner {
        Spinner { policy: *self, polls: 0 }
    }

    /// Nobody relaxes anything here.
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

    /// Nobody looks for work while asleep: that would hide what is missed.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        None
    }

    /// In a forked child this ends it; nobody forks here.
    pub(crate) fn abort_if_forked(&self) {}

    /// Where the bees need the queen's core. Here each has its own.
    pub(crate) fn migrate_off_worker_cpus(&self) {}

    pub(crate) fn yield_core(&self) {
        exploration::yield_in_wait(EXPLORED_POLLS);
    }

    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        sleep()
    }
}

/// Nothing is done ahead here.
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
            // Until the play begins, bees come up and stay up.
            WaitPolicy::Polls(_) | WaitPolicy::Endless => {
                exploration::yield_in_wait(EXPLORED_POLLS);
                true
            }
        }
    }
}

/// A hold takes no time here.
pub(crate) struct BackOff;

impl BackOff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn delay(&mut self) {}
}
