//! A spinner without a clock: how often a wait polls before it sleeps is drawn from the schedule's own random numbers.

use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};

/// The most polls before a bee sleeps.
const MAX_POLLS: u32 = 4;

/// How the bees of a modelled hive wait.
pub(crate) struct WaitPolicy {
    /// Whether sleeping bees wake by themselves to look for work.
    pub(crate) polls: bool,
}

impl WaitPolicy {
    pub(crate) fn spinner(&self) -> Spinner {
        Spinner { polls: thread_rng().gen_range(0..=MAX_POLLS) }
    }

    /// A spinner that does not poll.
    pub(crate) fn spent_spinner(&self) -> Spinner {
        Spinner { polls: 0 }
    }

    /// The interval does not matter: `Semaphore::wait_for` ignores it.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.polls.then_some(Duration::ZERO)
    }

    pub(crate) fn yield_core(&self) {
        shuttle::thread::yield_now();
    }
}

/// The spinner of one wait.
pub(crate) struct Spinner {
    /// How many polls are left.
    polls: u32,
}

impl Spinner {
    pub(crate) fn spin_once(&mut self) -> bool {
        self.polls = self.polls.wrapping_sub(1);
        self.polls < MAX_POLLS
    }
}
