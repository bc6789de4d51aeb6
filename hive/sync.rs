//! The primitives that the protocols in `crew/` are written in, and nothing else is.
//!
//! The models under `tests/models/` include the very files of `crew/` and supply this module from loom and shuttle,
//! so whatever `crew/` needs from outside comes through here.

use std::sync::{LockResult, PoisonError, TryLockError, atomic};
use std::thread;
use std::time::Duration;

use crate::sys::{asymmetric_fence, fork};

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Condvar, MutexGuard, OnceLock};
pub(crate) use std::thread::panicking as is_unwinding;

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker};

pub(crate) use crate::observe::activity::{Activity, ActivityCell, RegionActivity};
pub(crate) use crate::observe::counters::{BeeCounters, Counter};
pub(crate) use crate::observe::in_flight::InFlight;
pub(crate) use crate::observe::trace::event::Event;
pub(crate) use crate::observe::trace::log::{Log, MAX_ENTRIES as MAX_LOG_ENTRIES};
pub(crate) use crate::region::nesting::{is_in_region, within_region};
pub(crate) use crate::sys::abort::abort_with_message;
pub(crate) use crate::sys::asymmetric_fence::{KernelThread, heavy as heavy_fence, light as light_fence};
pub(crate) use crate::sys::semaphore::Semaphore;
pub(crate) use crate::sys::thread_id::{ThreadId, current_thread_id};
pub(crate) use crate::sys::wait::{WaitPolicy, serialize_poll};
pub(crate) use crate::tuning::back_off::BackOff;

/// So many sleepers one bee wakes by itself; of more it has others wake a part.
pub(crate) const MAX_REGION_WAKES: usize = 4;

/// So many sleepers one bee wakes for the sake of tasks; of more it has these wake a part.
pub(crate) const MAX_TASK_WAKES: u32 = 2;

/// Bees that share a word of `protocol/tasks/deque_marks.rs`.
pub(crate) const MARKS_PER_WORD: u32 = 64;

/// So many rounds of a loop are told apart by the numbers in one set of words, of 16 bits and compared by their difference: less than 2^15.
pub(crate) const fn rounds_per_generation() -> u64 {
    1 << 14
}

/// A number that no other team of the process has.
pub(crate) fn next_team_number() -> u64 {
    static NEXT_TEAM: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    // Relaxed: all additions to one word differ.
    NEXT_TEAM.fetch_add(1, Ordering::Relaxed)
}

/// How often a thread has to take the turn by itself before it is reserved to it. To end a reservation costs some 20 us, about a tenth of what so
/// many regions take.
pub(crate) fn acquisitions_until_bias() -> u32 {
    if asymmetric_fence::register() { 1_000 } else { u32::MAX }
}

/// Whether a reservation can be ended as cheaply as when `acquisitions_until_bias` was asked.
pub(crate) fn can_still_bias() -> bool {
    asymmetric_fence::are_still_available()
}

/// `std`'s mutex, which nobody waits for in vain: in a forked child, a thread of the parent's may have it.
pub(crate) struct Mutex<T> {
    generation: u32,
    mutex: std::sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { generation: fork::generation(), mutex: std::sync::Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if self.generation == fork::generation() { self.mutex.lock() } else { self.lock_in_child() }
    }

    /// Threads of the child's own give it back soon.
    #[cold]
    fn lock_in_child(&self) -> LockResult<MutexGuard<'_, T>> {
        const ATTEMPTS: u32 = 1_000;
        for _ in 0..ATTEMPTS {
            match self.mutex.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
        fork::abort_forked_child()
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        self.mutex.into_inner()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Waits for `condition`, and not for ever: for a waiter that may have been missed, and then must look again by
/// itself. A millisecond; twice as long after each of its `looks` in vain, up to 64.
pub(crate) fn wait_briefly<'m, T>(condition: &Condvar, guard: MutexGuard<'m, T>, retries: u32) -> MutexGuard<'m, T> {
    const SHORTEST_WAIT: Duration = Duration::from_millis(1);
    const MAX_DOUBLINGS: u32 = 6;
    let waited = condition.wait_timeout(guard, SHORTEST_WAIT * (1 << retries.min(MAX_DOUBLINGS)));
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The wait status of a forked child that takes the lock and ends.
    #[expect(unsafe_code, reason = "forks")]
    fn status_of_child_locking(mutex: &Mutex<u32>) -> libc::c_int {
        // Forks are seen from here on.
        fork::without_forks(|| ());
        // SAFETY: the child takes the lock and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_seven = mutex.lock().is_ok_and(|value| *value == 7);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_seven)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child made above.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status
    }

    #[test]
    fn a_child_takes_a_lock_that_nobody_has_and_waits_for_no_other() {
        let mutex = Mutex::new(7);
        assert_eq!(status_of_child_locking(&mutex), 0);
        let held = mutex.lock().unwrap();
        assert_eq!(status_of_child_locking(&mutex), libc::SIGABRT, "ended by a signal");
        drop(held);
        assert_eq!(*mutex.lock().unwrap(), 7);
    }
}
