//! A latch: what a bee waits for while it runs other tasks. It is set once, by the bee that does the last of the work
//! that is waited for: the second half of a join, or the last task of a scope. The proof that its owner does not sleep
//! through that is in `docs/sleep.md`.

use crate::protocol::Team;
use crate::sync::{AtomicBool, Ordering, fence};

/// A latch that one bee, its owner, waits for. At first it is not set.
#[derive(Default)]
pub(crate) struct Latch {
    /// False until `Team::set_latch` sets it; never reset.
    is_set: AtomicBool,
}

impl Latch {
    /// Whether the latch is set. Everything that was done before it was set has then happened.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set_latch`; makes visible what the owner waits for.
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the latch on the thread of the bee that it belongs to, which has run the last of the work by itself. It is
    /// awake, and looks at the latch again before it sleeps.
    #[inline]
    pub(crate) fn set_as_owner(&self) {
        // Relaxed: only the owner looks. How this thread has learned that all is done orders what other bees did.
        self.is_set.store(true, Ordering::Relaxed);
    }
}

impl Team {
    /// Sets a latch that belongs to bee `owner`, and wakes that bee if it is asleep or parked.
    ///
    /// # Safety
    /// The latch lives until it is set. This function does not touch it after that, because the owner may free it then.
    #[expect(unsafe_code, reason = "who waits may free the latch as soon as it is set")]
    pub(crate) unsafe fn set_latch(&self, latch: *const Latch, owner: u32) {
        let _in_flight = self.track_in_flight();
        // Release: pairs with the Acquire in `is_set`.
        // Step: set
        // SAFETY: the latch is not set yet, so the caller promises that it lives.
        unsafe { &*latch }.is_set.store(true, Ordering::Release);
        // Either the owner sees the latch set in its last check before it blocks, or `wake_bee` sees that it is
        // blocked. Pairs with the fences in `TaskContext::go_to_sleep` and `TaskContext::park`.
        // Step: fence
        fence(Ordering::SeqCst);
        // The latch may be gone now; its owner is known by number.
        // Step: call
        self.wake_bee(owner);
    }
}
