//! `bees_not_yet_tucked_in`: the surplus bees that are still on a core.
//!
//! Counted up before a bee becomes SURPLUS and down after it has become something else, by whoever made the change. So the count is
//! never below the truth, and zero means that the cores are free.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, WaitPolicy};

/// Set while somebody may wait for zero.
const HAS_WAITERS: u32 = 1 << 31;

/// The count, and those who wait for it to be zero.
pub(crate) struct PendingParks {
    /// Low 31 bits: the count. Bit 31: `HAS_WAITERS`.
    word: CachePadded<AtomicU32>,
    lock: Mutex<()>,
    all_parked: Condvar,
}

impl PendingParks {
    pub(crate) fn new() -> Self {
        Self { word: CachePadded::new(AtomicU32::new(0)), lock: Mutex::new(()), all_parked: Condvar::new() }
    }

    pub(crate) fn count(&self) -> u32 {
        // Acquire: pairs with the Release in `remove`; a zero is seen after the last bee went to bed.
        self.word.load(Ordering::Acquire) & !HAS_WAITERS
    }

    /// One more: added, never set, because two shrinks may overlap.
    pub(crate) fn add(&self) {
        // Relaxed: the change of state that follows publishes it.
        let before = self.word.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before & !HAS_WAITERS < u32::from(u16::MAX), "more surplus bees than there can be: {before}");
    }

    /// One less.
    pub(crate) fn remove(&self) {
        // Release: pairs with the Acquire in `count` and in `settle`.
        let before = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(before & !HAS_WAITERS > 0, "fewer surplus bees than none");
        if before == HAS_WAITERS | 1 {
            self.wake_waiters();
        }
    }

    #[cold]
    fn wake_waiters(&self) {
        let _lock = self.lock.lock().expect("no code that can panic runs under this lock");
        self.all_parked.notify_all();
    }

    /// Waits until the count is zero.
    pub(crate) fn wait_until_zero(&self, policy: &WaitPolicy) {
        let mut spinner = policy.spinner();
        while self.count() > 0 {
            if !spinner.spin_once() {
                return self.block_until_zero();
            }
        }
    }

    #[cold]
    fn block_until_zero(&self) {
        let mut lock = self.lock.lock().expect("no code that can panic runs under this lock");
        // Acquire: pairs with the Release in `remove`.
        while self.word.fetch_or(HAS_WAITERS, Ordering::Acquire) & !HAS_WAITERS > 0 {
            lock = self.all_parked.wait(lock).expect("no code that can panic runs under this lock");
        }
        // Relaxed: under the lock. Others who wait find zero as well, or set the flag again.
        self.word.fetch_and(!HAS_WAITERS, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::cpu_mask::CpuMask;

    #[test]
    fn waiting_ends_at_zero_and_not_before() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let pending_parks = PendingParks::new();
        pending_parks.wait_until_zero(&policy);
        pending_parks.add();
        pending_parks.add();
        std::thread::scope(|scope| {
            let waiters: Vec<_> = (0..3).map(|_| scope.spawn(|| pending_parks.wait_until_zero(&policy))).collect();
            pending_parks.remove();
            while pending_parks.word.load(Ordering::Relaxed) & HAS_WAITERS == 0 {
                std::thread::yield_now();
            }
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            pending_parks.remove();
        });
        assert_eq!(pending_parks.count(), 0);
    }
}
