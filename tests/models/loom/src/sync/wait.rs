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

    /// A spinner that does not poll.
    pub(crate) fn spent_spinner(&self) -> Spinner {
        Spinner { policy: Self::Polls(0), polls: 0 }
    }

    /// Sleeping bees do not poll for work, because that would hide a lost wake-up.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        None
    }

    pub(crate) fn yield_core(&self) {
        exploration::yield_in_wait(EXPLORED_POLLS);
    }
}

/// The spinner of one wait.
pub(crate) struct Spinner {
    policy: WaitPolicy,
    polls: u32,
}

impl Spinner {
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
