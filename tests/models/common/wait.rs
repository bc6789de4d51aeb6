//! What the spinners and wait policies of both model crates have in common: each crate's `sync/wait.rs` says how long a
//! wait polls.

use std::cell::Cell;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::time::Duration;

use super::wait::{Spinner, WaitPolicy};
use crate::observe::cold_parts::PartTime;

thread_local! {
    /// Whether workers are bound to no CPU. All threads of a model are on one thread of the system.
    static WORKERS_ARE_UNBOUND: Cell<bool> = const { Cell::new(false) };

    /// Whether workers steal only when they look for the last time before they sleep.
    static STEALS_ARE_PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Says whether workers are bound to no CPU, until the next call.
#[allow(dead_code, reason = "only loom's models ask for it")]
pub(crate) fn set_workers_are_unbound(are_unbound: bool) {
    WORKERS_ARE_UNBOUND.set(are_unbound);
}

/// Says whether workers steal only when they look for the last time before they sleep, until the next call.
#[allow(dead_code, reason = "only loom's models ask for it")]
pub(crate) fn set_steals_are_paused(are_paused: bool) {
    STEALS_ARE_PAUSED.set(are_paused);
}

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

    pub(crate) fn napping_spinner(&self, _row: u32) -> NappingSpinner<'_> {
        NappingSpinner { policy: self, spinner: self.spinner() }
    }

    pub(crate) fn spinner_beside_team(&self) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_in_team(&self, _bees: u32) -> Spinner {
        self.spinner()
    }

    pub(crate) fn spinner_for_sleepers(&self, _bees: u32) -> Spinner {
        self.spinner()
    }

    /// No model forks.
    pub(crate) fn is_forked(&self) -> bool {
        false
    }

    /// In a forked child the library ends the process here.
    pub(crate) fn abort_if_forked(&self) {}

    /// In the library the queen leaves the workers' CPUs here, or yields. In a model each thread has its own.
    pub(crate) fn give_way_to_workers(&self) {}

    /// See `give_way_to_workers`.
    pub(crate) fn cpu_to_leave(&self) -> Option<usize> {
        None
    }

    pub(crate) fn note_return(&self) {}

    pub(crate) fn may_bind_to(&self, _: ()) -> bool {
        true
    }

    /// In the library an unbound worker leaves the CPU of the thread that wakes it.
    pub(crate) fn note_waker(&self) {}

    pub(crate) fn leave_wakers_cpu(&self) {}

    pub(crate) fn binds_no_worker(&self) -> bool {
        WORKERS_ARE_UNBOUND.get()
    }

    pub(crate) fn count_unbound(&self) {}

    pub(crate) fn uncount_unbound(&self) {}

    pub(crate) fn keeps_spinning(&self) -> bool {
        false
    }

    /// In a model each yield pays.
    pub(crate) fn yield_if_it_pays(&self) -> bool {
        self.yield_core();
        true
    }

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

    /// In a model nobody looks after others: each thread has a CPU of its own.
    pub(crate) fn time_waited(&self) -> Option<Duration> {
        None
    }
}

/// In a model a nap is a yield, after which the wait polls as at its beginning.
pub(crate) struct NappingSpinner<'p> {
    policy: &'p WaitPolicy,
    spinner: Spinner,
}

impl NappingSpinner<'_> {
    pub(crate) fn spin_or_nap(&mut self) -> bool {
        let is_over = !self.spinner.spin_once();
        if is_over {
            self.policy.yield_core();
            self.spinner = self.policy.spinner();
        }
        is_over
    }

    pub(crate) fn time_waited(&self) -> Option<Duration> {
        self.spinner.time_waited()
    }
}

/// In a model the time of polling is fixed, and there is nothing to learn but whether a worker has slept.
pub(crate) struct PollTime {
    has_slept: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct TimedWait;

impl TimedWait {
    pub(crate) fn has_slept(&self) -> bool {
        true
    }

    pub(crate) fn part(&self) -> PartTime {
        PartTime
    }
}

impl PollTime {
    pub(crate) fn new(_: &WaitPolicy) -> Self {
        Self { has_slept: false }
    }

    pub(crate) fn limit(&self) {}

    pub(crate) fn begin_sleep(&mut self, _: &Spinner) {
        self.has_slept = true;
    }

    pub(crate) fn forget_wait(&mut self) {
        self.has_slept = false;
    }

    pub(crate) fn end_wait(&mut self, _: &Spinner) -> Option<TimedWait> {
        mem::take(&mut self.has_slept).then_some(TimedWait)
    }

    pub(crate) fn learn(&mut self, _: TimedWait, _: PartTime, _: bool, _: bool) {}

    pub(crate) fn note_late_arrival(&mut self) {}

    /// Where workers are bound to no CPU, they also go to sleep without polling.
    pub(crate) fn may_sleep_unbound(&self) -> bool {
        WORKERS_ARE_UNBOUND.get()
    }
}

/// In a model the pauses between steals do not end before the worker falls asleep, or there are none.
#[derive(Default)]
pub(crate) struct StealPacing;

impl StealPacing {
    pub(crate) fn may_steal(&self, _: impl FnOnce()) -> bool {
        !self.is_paused()
    }

    pub(crate) fn is_paused(&self) -> bool {
        STEALS_ARE_PAUSED.get()
    }

    pub(crate) fn measure<T>(
        &self,
        steal: impl FnOnce() -> Option<T>,
        _: impl FnOnce() -> bool,
        _: impl FnOnce() -> bool,
    ) -> Option<T> {
        steal()
    }

    pub(crate) fn begin_task(&self) -> Option<()> {
        None
    }

    pub(crate) fn note_vain_look(&self) {}

    pub(crate) fn is_owner_at_work(&self, _: u32, _: u64) -> bool {
        true
    }

    pub(crate) fn forget_steal(&self) {}

    pub(crate) fn while_waiting<R>(&self, wait: impl FnOnce() -> R) -> R {
        wait()
    }

    pub(crate) fn learn(&self, (): ()) {}
}

/// In a model each thread has a CPU of its own, and is bound to none.
#[derive(Default)]
pub(crate) struct SleepBinding;

impl SleepBinding {
    pub(crate) fn is_unbound(&self) -> bool {
        false
    }

    pub(crate) fn unbind(&self) -> bool {
        false
    }

    pub(crate) fn bind_again(&self) -> bool {
        false
    }

    pub(crate) fn bound(&self) {}

    pub(crate) fn has_left(&self) -> bool {
        false
    }

    pub(crate) fn leave_cpu(&self, _: usize, _: &WaitPolicy) -> bool {
        false
    }

    pub(crate) fn ran_since_last_call(&self) -> Option<(Duration, Duration)> {
        None
    }

    pub(crate) fn bring_here(&self, _: &WaitPolicy) -> bool {
        false
    }

    pub(crate) fn is_guest(&self) -> bool {
        false
    }

    pub(crate) fn end_visit(&self, _: &WaitPolicy) {}
}

/// A model's closures are small, or have their words copied.
///
/// # Safety
/// As in the library.
#[allow(unsafe_code, reason = "copies words")]
pub(crate) unsafe fn copy_changed_words(from: *const MaybeUninit<u64>, to: *mut MaybeUninit<u64>, words: usize) {
    // SAFETY: as the caller promises.
    unsafe { ptr::copy_nonoverlapping(from, to, words) };
}

/// A model's waits do not nest deep.
pub(crate) fn has_stack_room() -> bool {
    true
}

/// So this does not come about.
pub(crate) fn run_late(_: std::time::Instant, _: impl FnOnce() -> bool) -> bool {
    false
}

/// Nor does this.
pub(crate) fn run_late_in_yield(_: impl FnOnce() -> bool) -> bool {
    false
}

/// In a model a wait without room on the stack does not come about.
pub(crate) fn nap(_: Duration) {}

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
