//! What a member waits for while it runs other tasks: set once, by whoever does the last of it.

use super::Crew;
use crate::sync::{AtomicBool, Ordering, fence};

/// A latch of one member.
pub(crate) struct Latch {
    set: AtomicBool,
}

impl Latch {
    pub(crate) fn new() -> Self {
        Self { set: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set_latch`; what was waited for is visible.
        self.set.load(Ordering::Acquire)
    }
}

impl Crew {
    /// Sets a latch of member `owner`, and wakes it if it sleeps.
    ///
    /// # Safety
    /// The latch lives until it is set; after that, it is not touched.
    #[expect(unsafe_code, reason = "who waits may free the latch as soon as it is set")]
    pub(crate) unsafe fn set_latch(&self, latch: *const Latch, owner: u32) {
        let _under_way = self.posting();
        // Release: pairs with the Acquire in `is_set`.
        // Step: set
        // SAFETY: it is not set yet, so it lives.
        unsafe { &*latch }.set.store(true, Ordering::Release);
        // Pairs with the fences in `go_to_sleep` and `park`.
        // Step: fence
        fence(Ordering::SeqCst);
        // Step: call
        self.call(owner);
    }
}
