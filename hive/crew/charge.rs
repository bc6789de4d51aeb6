//! What a sleeper has to do as soon as it is woken, for those who sleep still: call a part of them.

use crate::sync::{AtomicU32, Ordering};

/// A member's charge: the members after it up to a number, of the group in which it hears of regions.
pub(super) struct Charge(AtomicU32);

impl Charge {
    /// Nobody.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Those up to `end`. By who is about to wake the member.
    pub(super) fn give(&self, end: u32) {
        // Relaxed: the change of state that follows hands it on.
        self.0.store(end, Ordering::Relaxed);
    }

    /// Up to whom, once; 0: nobody. By the member, when it has been woken.
    pub(super) fn take(&self) -> u32 {
        // Relaxed, both: the semaphore orders them.
        let end = self.0.load(Ordering::Relaxed);
        if end > 0 {
            self.0.store(0, Ordering::Relaxed);
        }
        end
    }
}
