//! What a bee waits for while it runs other tasks: set once, by whoever does the last of it.

use crate::protocol::Team;
use crate::sync::{AtomicBool, Ordering, fence};

/// A latch of one bee.
pub(crate) struct Latch {
    is_set: AtomicBool,
}

impl Latch {
    pub(crate) fn new() -> Self {
        Self { is_set: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set_latch`; what was waited for is visible.
        self.is_set.load(Ordering::Acquire)
    }
}

impl Team {
    /// Sets a latch of bee `owner`, and wakes it if it sleeps.
    ///
    /// # Safety
    /// The latch lives until it is set; after that, it is not touched.
    #[expect(unsafe_code, reason = "who waits may free the latch as soon as it is set")]
    pub(crate) unsafe fn set_latch(&self, latch: *const Latch, owner: u32) {
        let _in_flight = self.track_in_flight();
        // Release: pairs with the Acquire in `is_set`.
        // Step: set
        // SAFETY: it is not set yet, so it lives.
        unsafe { &*latch }.is_set.store(true, Ordering::Release);
        // Pairs with the fences in `go_to_sleep` and `count_parked`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: call
        self.wake_bee(owner);
    }
}
