//! The count of pending parks: surplus workers that are still on a core. It is what `bees_not_yet_tucked_in` returns
//! and what `wait_until_parked` waits for.
//!
//! The count goes up before a worker becomes SURPLUS, and down after it has become something else. In both cases the
//! thread that makes the change of state changes the count. So the count is never below the truth, and zero means that
//! the cores are free. See `docs/resize.md`.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, WaitPolicy};

// A flag in the word: a thread may be blocked until the count is zero.
const HAS_WAITERS: u32 = 1 << 31;

/// The count of pending parks, with what a thread blocks on until it is zero.
#[derive(Default)]
pub(crate) struct PendingParks {
    /// Low 31 bits: the count. Bit 31: `HAS_WAITERS`.
    word: CachePadded<AtomicU32>,
    /// Held while a thread decides to block and while the blocked ones are woken, so that no wake comes between a
    /// waiter's look at the count and its wait. It protects no data.
    lock: Mutex<()>,
    /// Notified when the count has become zero and `HAS_WAITERS` is set.
    all_parked: Condvar,
}

impl PendingParks {
    /// The pending parks now.
    pub(crate) fn count(&self) -> u32 {
        // Acquire: pairs with the Release in `remove`. A caller that reads zero sees what each worker did before it
        // parked.
        self.word.load(Ordering::Acquire) & !HAS_WAITERS
    }

    /// Counts one more. It adds, and never sets the count, because two shrinks may overlap. Called before the change of
    /// state; if that fails, `remove` is.
    fn add(&self) {
        // Relaxed: the change of state that follows publishes it.
        let before = self.word.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before & !HAS_WAITERS < u32::from(u16::MAX), "more surplus bees than there can be: {before}");
    }

    /// Counts one more if `change`, which makes a worker SURPLUS, returns true. Returns whether it did. The worker is
    /// counted before the change, so that the count is never below the truth, and taken back if the change fails.
    pub(crate) fn add_if(&self, change: impl FnOnce() -> bool) -> bool {
        self.add();
        let won = change();
        if !won {
            self.remove();
        }
        won
    }

    /// Counts one fewer. Call after the change of state.
    pub(crate) fn remove(&self) {
        // Release: pairs with the Acquire in `count` and in `block_until_zero`.
        let before = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(before & !HAS_WAITERS > 0, "fewer surplus bees than none");
        // This was the last, and a thread waits for it.
        if before == HAS_WAITERS | 1 {
            self.wake_waiters();
        }
    }

    /// Wakes all threads that block until the count is zero.
    #[cold]
    fn wake_waiters(&self) {
        let _lock = self.lock.lock();
        self.all_parked.notify_all();
    }

    /// Waits until the count is zero: polls for the time of `policy`, and then blocks.
    pub(crate) fn wait_until_zero(&self, policy: &WaitPolicy) {
        let mut spinner = policy.spinner();
        while self.count() > 0 {
            if !spinner.spin_once() {
                return policy.while_off_core(|| self.block_until_zero());
            }
        }
    }

    /// Blocks until the count is zero.
    #[cold]
    fn block_until_zero(&self) {
        let mut lock = self.lock.lock();
        // Sets the flag and reads the count in one step, so that the `remove` that makes the count zero sees the flag
        // or this sees zero. Acquire: pairs with the Release in `remove`.
        while self.word.fetch_or(HAS_WAITERS, Ordering::Acquire) & !HAS_WAITERS > 0 {
            lock = self.all_parked.wait(lock).expect("no code that can panic runs under this lock");
        }
        // Other waiters do not need the flag: they find zero as well, or they set it again. Relaxed: this happens under
        // the lock, and the flag publishes nothing.
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
        let pending_parks = PendingParks::default();
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
