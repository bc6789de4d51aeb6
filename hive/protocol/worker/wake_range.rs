//! What a woken bee is asked to do for those that are still asleep: to wake some of them. With this, many sleepers are
//! woken as by a tree, and not all by one thread. `WakeRange` is for the bees of a region,
//! `WakeRequest` for tasks. `worker/wake.rs` and `wake_for_tasks.rs` use them.

use crate::sync::{AtomicU32, Ordering};

/// The bees that the owner of this slot has to wake for a region, as soon as it has been woken itself: those of the
/// group that it receives regions in, from the one after it up to, and without, this number. 0: none.
#[derive(Default)]
pub(crate) struct WakeRange(AtomicU32);

impl WakeRange {
    /// Asks for the bees after the owner and below number `end`. Called by a thread that is about to wake the owner. If
    /// the wake fails, that thread takes the request back with `take`.
    pub(crate) fn set(&self, end: u32) {
        // Relaxed: the change of the owner's state that follows publishes it.
        self.0.store(end, Ordering::Relaxed);
    }

    /// Returns the number below which the owner has to wake bees, and forgets it. 0: none. Called by the owner when it
    /// has been woken.
    pub(crate) fn take(&self) -> u32 {
        // Relaxed, both: the semaphore that the owner has just waited on orders them.
        let end = self.0.load(Ordering::Relaxed);
        if end > 0 {
            self.0.store(0, Ordering::Relaxed);
        }
        end
    }
}

/// What a bee that is woken for the sake of tasks learns with that: which bee has woken it, and how many other sleepers
/// it is asked to wake.
///
/// The thread that has won the change out of ASLEEP writes this, before it posts the semaphore. So only one thread
/// writes it at a time, and what the bee reads never comes from another wake.
#[derive(Default)]
pub(crate) struct WakeRequest {
    /// The number of the waker, plus one. 0: the bee was not woken for tasks.
    waker: AtomicU32,
    /// How many other sleepers the bee is asked to wake.
    others: AtomicU32,
}

impl WakeRequest {
    /// Notes that bee `waker` wakes this one and asks it to wake `others` more. The caller has won the change out of
    /// ASLEEP and has not posted the semaphore yet.
    pub(crate) fn set(&self, waker: u32, others: u32) {
        // Relaxed, both: the post of the semaphore publishes them.
        self.waker.store(waker + 1, Ordering::Relaxed);
        self.others.store(others, Ordering::Relaxed);
    }

    /// Returns the number of the waker and how many others to wake, and forgets both. None: the bee was not woken for
    /// tasks. Called by the bee when it has been woken.
    pub(crate) fn take(&self) -> Option<(u32, u32)> {
        // Relaxed, all: the semaphore that the bee has just waited on orders them.
        let waker = self.waker.load(Ordering::Relaxed).checked_sub(1)?;
        self.waker.store(0, Ordering::Relaxed);
        Some((waker, self.others.load(Ordering::Relaxed)))
    }
}
