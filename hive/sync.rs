//! Everything that the protocols in `protocol/` need from outside: atomics, locks, the wait policy, counters, logs, and
//! a few constants. The protocols use no other primitives.
//!
//! The models under `tests/models/` include the files of `protocol/` as they are, and supply this module in a version
//! of their own, made of loom's and shuttle's primitives. So nothing in `protocol/` may bypass it.

use std::sync::{PoisonError, atomic};
use std::time::Duration;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Condvar, MutexGuard, OnceLock, OnceLock as SlotOnce};
pub(crate) use std::thread::{panicking as is_unwinding, sleep as nap, yield_now as yield_core};

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker};

pub(crate) use crate::observe::activity::{ActivityCell, BeeState, Snapshot};
pub(crate) use crate::observe::cold_parts::ColdParts;
pub(crate) use crate::observe::counters::{BeeCounters, Counter};
pub(crate) use crate::observe::help::{Help, HelpOfLoop};
pub(crate) use crate::observe::in_flight::InFlight;
pub(crate) use crate::observe::trace::event::{Event, EventKind};
pub(crate) use crate::observe::trace::log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
pub(crate) use crate::observe::wake_delay::WakeDelay;
pub(crate) use crate::on_drop::on_drop;
pub(crate) use crate::sys::asymmetric_fence::{light as light_fence, try_heavy as try_heavy_fence};
pub(crate) use crate::sys::back_off::BackOff;
pub(crate) use crate::sys::changed_words::copy_changed_words;
pub(crate) use crate::sys::clock::nanos;
pub(crate) use crate::sys::float_mode::FloatMode;
pub(crate) use crate::sys::mutex::Mutex;
pub(crate) use crate::sys::napping_spinner::NappingSpinner;
pub(crate) use crate::sys::part_time::PartTime;
pub(crate) use crate::sys::poll_time::{PollTime, TimedWait};
pub(crate) use crate::sys::semaphore::Semaphore;
pub(crate) use crate::sys::sleep_binding::SleepBinding;
pub(crate) use crate::sys::spinner::serialize_poll;
pub(crate) use crate::sys::stack_room::{has_stack_room, run_late, run_late_in_yield};
pub(crate) use crate::sys::stderr::abort_with_message;
pub(crate) use crate::sys::steal_pacing::StealPacing;
pub(crate) use crate::sys::ticks::Deadline;
pub(crate) use crate::sys::wait::WaitPolicy;

/// Up to how many workers of a group one bee wakes by itself when a region starts. If there are more, a sleeping worker
/// is woken first, and wakes half of the others.
pub(crate) const MAX_REGION_WAKES: usize = 4;

/// How many sleeping workers one bee wakes by itself for new tasks. If more are to be woken, the workers that it wakes
/// do the rest.
pub(crate) const MAX_TASK_WAKES: u32 = 2;

/// How many bees share one word of `protocol/tasks/deque_marks.rs`.
pub(crate) const MARKS_PER_WORD: u32 = 64;

/// How many rounds of a loop use the same `Dispatch`. Rounds are told apart by numbers of 16 bits, which are compared
/// by their difference, so this must be less than 2^15.
pub(crate) const fn rounds_per_generation() -> u64 {
    1 << 14
}

/// A number that no other team of this process has.
pub(crate) fn next_team_number() -> u64 {
    static NEXT_TEAM: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    // Relaxed: only the returned values matter, and no two additions to one word return the same.
    NEXT_TEAM.fetch_add(1, Ordering::Relaxed)
}

/// Waits for `condition`, but only for a short time: for waiters that may miss their notification, and therefore must
/// look again by themselves. The time is one millisecond, doubled with each of the `retries` so far, up to 64 ms.
/// Returns the lock again.
pub(crate) fn wait_briefly<'m, T>(condition: &Condvar, guard: MutexGuard<'m, T>, retries: u32) -> MutexGuard<'m, T> {
    const SHORTEST_WAIT: Duration = Duration::from_millis(1);
    const MAX_DOUBLINGS: u32 = 6;
    let waited = condition.wait_timeout(guard, SHORTEST_WAIT * (1 << retries.min(MAX_DOUBLINGS)));
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// `std`'s `UnsafeCell` with loom's interface, which tells loom when an access begins and when it ends.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}
