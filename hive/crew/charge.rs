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

/// What a member is told that is woken for the sake of tasks: by whom, and how many other sleepers it is to wake.
///
/// Whoever has won the change out of ASLEEP writes it, before it posts the bed. So there is one at a time, and it is
/// never left over from another wake.
pub(super) struct Errand {
    /// The waker's number, plus one; 0: it was not woken for tasks.
    by: AtomicU32,
    others: AtomicU32,
}

impl Errand {
    /// None.
    pub(super) fn new() -> Self {
        Self { by: AtomicU32::new(0), others: AtomicU32::new(0) }
    }

    /// By member `by`, which has won the change out of ASLEEP and has not posted the bed yet.
    pub(super) fn give(&self, by: u32, others: u32) {
        // Relaxed, both: the semaphore hands them on.
        self.by.store(by + 1, Ordering::Relaxed);
        self.others.store(others, Ordering::Relaxed);
    }

    /// By whom, and how many others, once. By the member, when it has been woken.
    pub(super) fn take(&self) -> Option<(u32, u32)> {
        // Relaxed, all: the semaphore orders them.
        let by = self.by.load(Ordering::Relaxed).checked_sub(1)?;
        self.by.store(0, Ordering::Relaxed);
        Some((by, self.others.load(Ordering::Relaxed)))
    }
}
