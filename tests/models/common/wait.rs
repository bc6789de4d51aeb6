//! What the spinners and wait policies of both model crates have in common: each crate's `sync/wait.rs` says how long a
//! wait polls.

use super::wait::{Spinner, WaitPolicy};

impl WaitPolicy {
    /// The epoch never changes, because no model asks the bees to stop spinning.
    pub(crate) fn spin_epoch(&self) -> u32 {
        0
    }

    pub(crate) fn worker_spinner(&self, _: u32, _: ()) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_after_task(&self) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_beside_team(&self) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_for_sleepers(&self) -> Spinner {
        self.spinner()
    }

    /// In a forked child the library ends the process here. No model forks.
    pub(crate) fn abort_if_forked(&self) {}

    /// In the library the queen leaves the workers' CPUs here. In a model each thread has its own.
    pub(crate) fn migrate_off_worker_cpus(&self) {}

    /// In the library an unbound worker leaves the CPU of the thread that wakes it.
    pub(crate) fn note_waker(&self) {}

    pub(crate) fn leave_wakers_cpu(&self) {}

    pub(crate) fn while_off_core<R>(&self, sleep: impl FnOnce() -> R) -> R {
        sleep()
    }
}

impl Spinner {
    pub(crate) fn is_hot(&self) -> bool {
        false
    }

    pub(crate) fn should_check_tasks(&self) -> bool {
        true
    }
}

/// In a model the time of polling is fixed, and there is nothing to learn.
pub(crate) struct PollTime;

impl PollTime {
    pub(crate) fn new(_: &WaitPolicy) -> Self {
        Self
    }

    pub(crate) fn limit(&self) {}

    pub(crate) fn begin_sleep(&mut self, _: &Spinner) {}

    pub(crate) fn forget_wait(&mut self) {}

    pub(crate) fn end_wait(&mut self, _: &Spinner) -> Option<()> {
        None
    }

    pub(crate) fn learn(&mut self, (): (), _: bool) {}

    pub(crate) fn note_late_arrival(&mut self) {}
}

/// Nothing to do in a model.
pub(crate) fn serialize_poll() {}

/// A yield decides only which thread the kernel runs next, and a model tries them all.
pub(crate) fn yield_core() {}

/// The back-off between two polls takes no time here.
pub(crate) struct BackOff;

impl BackOff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn delay(&mut self) {}
}
