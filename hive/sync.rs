//! The primitives that the protocols in `crew/` are written in, and nothing else is.
//!
//! The models under `tests/models/` include the very files of `crew/` and supply this module from loom and shuttle,
//! so whatever `crew/` needs from outside comes through here.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Condvar, MutexGuard, OnceLock};
pub(crate) use std::thread::panicking as is_unwinding;

use std::sync::{LockResult, PoisonError, TryLockError, atomic};
use std::thread;
use std::time::Duration;

use crate::asymmetric_fence;
use crate::fork;

pub(crate) use crate::abort::abort_saying;
pub(crate) use crate::asymmetric_fence::{KernelThread, heavy as heavy_fence, light as light_fence};
pub(crate) use crate::doing::{Activity, Doing, Note};
pub(crate) use crate::frame::{is_in_region, within as within_region};
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

/// So many sleepers one member wakes for the sake of tasks; of more it has these wake a part.
pub(crate) const WAKES_BY_ONE: u32 = 2;

/// Members that share a word of `crew/work.rs`.
pub(crate) const MARKS_PER_WORD: u32 = 64;

/// So many rounds of a loop are told apart by the numbers in one set of words, of 16 bits and compared by their difference: less than 2^15.
pub(crate) const fn rounds_of_a_generation() -> u64 {
    1 << 14
}

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

/// Whether a reservation can be ended as cheaply as when `takes_to_reserve` was asked.
pub(crate) fn can_still_reserve() -> bool {
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
        const TRIES: u32 = 1_000;
        for _ in 0..TRIES {
            match self.mutex.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
        fork::end_stray_child()
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
pub(crate) fn wait_a_while<'m, T>(condition: &Condvar, guard: MutexGuard<'m, T>, looks: u32) -> MutexGuard<'m, T> {
    const SHORTEST: Duration = Duration::from_millis(1);
    const MOST_DOUBLINGS: u32 = 6;
    let waited = condition.wait_timeout(guard, SHORTEST * (1 << looks.min(MOST_DOUBLINGS)));
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
    fn of_a_child_that_takes(mutex: &Mutex<u32>) -> libc::c_int {
        // Forks are seen from here on.
        fork::undivided(|| ());
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
        assert_eq!(of_a_child_that_takes(&mutex), 0);
        let held = mutex.lock().unwrap();
        assert_eq!(of_a_child_that_takes(&mutex), libc::SIGABRT, "ended by a signal");
        drop(held);
        assert_eq!(*mutex.lock().unwrap(), 7);
    }
}
