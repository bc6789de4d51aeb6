//! The primitives that the protocols in `crew/` are written in, and nothing else is.
//!
//! The models under `tests/models/` include the very files of `crew/` and supply this module from loom and shuttle,
//! so whatever `crew/` needs from outside comes through here.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

use std::sync::{PoisonError, atomic};
use std::time::Duration;

use crate::asymmetric_fence;

pub(crate) use crate::asymmetric_fence::{heavy as heavy_fence, light as light_fence};
pub(crate) use crate::doing::{Activity, Doing, Note};
pub(crate) use crate::hold::Hold;
pub(crate) use crate::posts::Posts;
pub(crate) use crate::semaphore::Semaphore;
pub(crate) use crate::tally::{Count, Tally};
pub(crate) use crate::thread_token::{ThreadToken, this_thread};
pub(crate) use crate::trace::{Event, Log, MOST_ENTRIES};
pub(crate) use crate::wait::{WaitPolicy, one_poll_at_a_time};
pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker};

/// So many sleepers one member wakes by itself; of more it has others wake a part.
pub(crate) const CALLS_BY_ONE: usize = 4;

/// A number that no other crew of the process has.
pub(crate) fn number_of_crew() -> u64 {
    static CREWS: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    // Relaxed: all additions to one word differ.
    CREWS.fetch_add(1, Ordering::Relaxed)
}

/// How often a thread has to take the turn by itself before it is reserved to it. To end a reservation costs some 20 us, about a tenth of what so
/// many regions take.
pub(crate) fn takes_to_reserve() -> u32 {
    if asymmetric_fence::are_available() { 1_000 } else { u32::MAX }
}

/// Waits for `condition`, and not for ever: a millisecond. For a waiter that may have been missed, and then must look again by itself.
pub(crate) fn wait_a_while<'m, T>(condition: &Condvar, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
    let waited = condition.wait_timeout(guard, Duration::from_millis(1));
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// `std`'s `UnsafeCell` behind loom's interface, which tells the checker when an access begins and ends.
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
