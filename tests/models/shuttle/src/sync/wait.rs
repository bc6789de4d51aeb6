//! A spinner without a clock: how many polls it has is drawn from the schedule's own random numbers.

use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};

/// The most polls before sleeping.
const MAX_POLLS: u32 = 4;

/// How a modelled hive waits.
pub(crate) struct WaitPolicy {
    /// Whether sleepers look for work by themselves.
    pub(crate) polls: bool,
}

impl WaitPolicy {
    pub(crate) fn spinner(&self) -> Spinner {
        Spinner { polls: thread_rng().gen_range(0..=MAX_POLLS) }
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

    /// The time is any.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.polls.then_some(Duration::ZERO)
    }

    /// In a forked child this ends it; nobody forks here.
    pub(crate) fn abort_if_forked(&self) {}

    /// Where the bees need the queen's core. Here each has its own.
    pub(crate) fn migrate_off_worker_cpus(&self) {}

    pub(crate) fn yield_core(&self) {
        shuttle::thread::yield_now();
    }

    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        sleep()
    }
}

/// Nothing is done ahead here.
pub(crate) fn serialize_poll() {}

/// The spinner of one wait.
pub(crate) struct Spinner {
    /// Left.
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

/// A hold takes no time here.
pub(crate) struct BackOff;

impl BackOff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn delay(&mut self) {}
}
