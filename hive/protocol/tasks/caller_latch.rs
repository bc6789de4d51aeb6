//! What a thread waits for that has handed a task over to a task pool and runs no tasks itself: it polls for a moment,
//! and then sleeps on a semaphore.
//!
//! The thread that has run the task posts the semaphore only if the caller sleeps. A post costs a system call, and if
//! the caller sleeps on another CPU, an interrupt there as well; under a hypervisor that takes both threads some 10 us.
//! A caller that polls yields its CPU between polls, so a thread of the pool that waits for that CPU soon has it.
//!
//! Each side changes the state by one compare-and-swap, so one of them is second and sees what the other has done. If
//! that is the caller, the task has ended, and it does not sleep. If it is the other, it posts. Until then the caller
//! does not go on, so the latch, which lies on its stack, is there for as long as anybody looks at it.

use crate::sync::{AtomicU32, Ordering};

/// The caller polls.
const POLLED: u32 = 0;
/// The caller sleeps, or is about to.
const SLEPT_ON: u32 = 1;
/// What the caller waits for has been done.
const SET: u32 = 2;

/// A latch that one thread waits for, which is no bee. At first it is not set, and the caller polls.
#[derive(Default)]
pub(crate) struct CallerLatch {
    state: AtomicU32,
}

impl CallerLatch {
    /// Whether the latch is set, and the caller may go on without a look at its semaphore. Everything that was done
    /// before it was set has then happened.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set`.
        self.state.load(Ordering::Acquire) == SET
    }

    /// Says that the caller is about to wait for a post of its semaphore. Returns whether it is to wait: if not, the
    /// latch has been set, as for `is_set`, and nobody posts.
    pub(crate) fn begin_sleep(&self) -> bool {
        // Relaxed on success: it publishes nothing, and the post orders what has been done. Acquire on failure: pairs
        // with the Release in `set`.
        self.state.compare_exchange(POLLED, SLEPT_ON, Ordering::Relaxed, Ordering::Acquire).is_ok()
    }

    /// Sets the latch. Returns whether the caller sleeps instead of seeing that: then its semaphore is to be posted,
    /// and the latch is there until it is. Otherwise the latch may be gone.
    pub(crate) fn set(&self) -> bool {
        // Release on success: pairs with the Acquire in `is_set` and in `begin_sleep`. Relaxed on failure: the post
        // orders all.
        self.state.compare_exchange(POLLED, SET, Ordering::Release, Ordering::Relaxed).is_err()
    }
}
