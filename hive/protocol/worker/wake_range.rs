//! What a sleeper has to do as soon as it is woken, for those who sleep still: call a part of them.

use crate::sync::{AtomicU32, Ordering};

/// A bee's charge: the bees after it up to a number, of the group in which it hears of regions.
pub(crate) struct WakeRange(AtomicU32);

impl WakeRange {
    /// Nobody.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Those up to `end`. By who is about to wake the bee.
    pub(crate) fn set(&self, end: u32) {
        // Relaxed: the change of state that follows hands it on.
        self.0.store(end, Ordering::Relaxed);
    }

    /// Up to whom, once; 0: nobody. By the bee, when it has been woken.
    pub(crate) fn take(&self) -> u32 {
        // Relaxed, both: the semaphore orders them.
        let end = self.0.load(Ordering::Relaxed);
        if end > 0 {
            self.0.store(0, Ordering::Relaxed);
        }
        end
    }
}

/// What a bee is told that is woken for the sake of tasks: by whom, and how many other sleepers it is to wake.
///
/// Whoever has won the change out of ASLEEP writes it, before it posts the bed. So there is one at a time, and it is
/// never left over from another wake.
pub(crate) struct WakeRequest {
    /// The waker's number, plus one; 0: it was not woken for tasks.
    waker: AtomicU32,
    others: AtomicU32,
}

impl WakeRequest {
    /// None.
    pub(crate) fn new() -> Self {
        Self { waker: AtomicU32::new(0), others: AtomicU32::new(0) }
    }

    /// By bee `by`, which has won the change out of ASLEEP and has not posted the bed yet.
    pub(crate) fn set(&self, waker: u32, others: u32) {
        // Relaxed, both: the semaphore hands them on.
        self.waker.store(waker + 1, Ordering::Relaxed);
        self.others.store(others, Ordering::Relaxed);
    }

    /// By whom, and how many others, once. By the bee, when it has been woken.
    pub(crate) fn take(&self) -> Option<(u32, u32)> {
        // Relaxed, all: the semaphore orders them.
        let waker = self.waker.load(Ordering::Relaxed).checked_sub(1)?;
        self.waker.store(0, Ordering::Relaxed);
        Some((waker, self.others.load(Ordering::Relaxed)))
    }
}
