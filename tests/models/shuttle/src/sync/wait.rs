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

    /// The epoch never changes, because no scenario asks the bees to stop spinning.
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

    /// The interval does not matter: `Semaphore::wait_for` ignores it.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.polls.then_some(Duration::ZERO)
    }

    /// In a forked child the library ends the process here. No scenario forks.
    pub(crate) fn abort_if_forked(&self) {}

    /// In the library the queen leaves the workers' CPUs here. In a model each thread has its own.
    pub(crate) fn migrate_off_worker_cpus(&self) {}

    pub(crate) fn yield_core(&self) {
        shuttle::thread::yield_now();
    }

    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        sleep()
    }
}

/// Nothing to do in a model.
pub(crate) fn serialize_poll() {}

/// The spinner of one wait.
pub(crate) struct Spinner {
    /// How many polls are left.
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
        self.polls = self.polls.wrapping_sub(1);
        self.polls < MAX_POLLS
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
