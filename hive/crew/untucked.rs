//! `bees_not_yet_tucked_in`: the surplus bees that are still on a core.
//!
//! Counted up before a bee becomes SURPLUS and down after it has become something else, by whoever made the change. So the count is
//! never below the truth, and zero means that the cores are free.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, WaitPolicy};

/// Set while somebody may wait for zero.
const AWAITED: u32 = 1 << 31;

/// The count, and those who wait for it to be zero.
pub(crate) struct Untucked {
    /// Low 31 bits: the count. Bit 31: `AWAITED`.
    word: CachePadded<AtomicU32>,
    lock: Mutex<()>,
    all_tucked_in: Condvar,
}

impl Untucked {
    pub(crate) fn new() -> Self {
        Self { word: CachePadded::new(AtomicU32::new(0)), lock: Mutex::new(()), all_tucked_in: Condvar::new() }
    }

    pub(crate) fn count(&self) -> u32 {
        // Acquire: pairs with the Release in `remove`; a zero is seen after the last bee went to bed.
        self.word.load(Ordering::Acquire) & !AWAITED
    }

    /// One more: added, never set, because two shrinks may overlap.
    pub(crate) fn add(&self) {
        // Relaxed: the change of state that follows publishes it.
        let before = self.word.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before & !AWAITED < u32::from(u16::MAX), "more surplus bees than there can be: {before}");
    }

    /// One less.
    pub(crate) fn remove(&self) {
        // Release: pairs with the Acquire in `count` and in `settle`.
        let before = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(before & !AWAITED > 0, "fewer surplus bees than none");
        if before == AWAITED | 1 {
            self.wake_settlers();
        }
    }

    #[cold]
    fn wake_settlers(&self) {
        let _lock = self.lock.lock().expect("no code that can panic runs under this lock");
        self.all_tucked_in.notify_all();
    }

    /// Waits until the count is zero.
    pub(crate) fn settle(&self, policy: &WaitPolicy) {
        let mut patience = policy.patience();
        while self.count() > 0 {
            if !patience.poll_again() {
                return self.settle_asleep();
            }
        }
    }

    #[cold]
    fn settle_asleep(&self) {
        let mut lock = self.lock.lock().expect("no code that can panic runs under this lock");
        // Acquire: pairs with the Release in `remove`.
        while self.word.fetch_or(AWAITED, Ordering::Acquire) & !AWAITED > 0 {
            lock = self.all_tucked_in.wait(lock).expect("no code that can panic runs under this lock");
        }
        // Relaxed: under the lock. Others who wait find zero as well, or set the flag again.
        self.word.fetch_and(!AWAITED, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::topology::CpuMask;

    #[test]
    fn settle_returns_at_zero_and_not_before() {
        let policy = WaitPolicy::new(Duration::ZERO, None, 1, CpuMask::new());
        let untucked = Untucked::new();
        untucked.settle(&policy);
        untucked.add();
        untucked.add();
        std::thread::scope(|scope| {
            let settlers: Vec<_> = (0..3).map(|_| scope.spawn(|| untucked.settle(&policy))).collect();
            untucked.remove();
            while untucked.word.load(Ordering::Relaxed) & AWAITED == 0 {
                std::thread::yield_now();
            }
            assert!(settlers.iter().all(|settler| !settler.is_finished()));
            untucked.remove();
        });
        assert_eq!(untucked.count(), 0);
    }
}
