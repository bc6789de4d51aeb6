//! Everything that is to be run has a number, and each number is crossed off once.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers, and which of them have been crossed off.
pub(crate) struct CompletionLog {
    allocated: AtomicU64,
    completed: AtomicU64,
    /// A bit a number.
    bits: Box<[AtomicU64]>,
}

impl CompletionLog {
    /// Of up to `most` numbers.
    pub(crate) fn new(max: u64) -> Self {
        let bits = (0..max.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { allocated: AtomicU64::new(0), completed: AtomicU64::new(0), bits }
    }

    /// New numbers.
    pub(crate) fn allocate(&self, count: u64) -> Range<u64> {
        let first = self.allocated.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }

    /// Whether another `count` numbers, issued by each of many threads, can be had.
    pub(crate) fn can_allocate(&self, count: u64) -> bool {
        self.allocated.load(Ordering::Relaxed) + count < 64 * self.bits.len() as u64
    }

    /// Crosses a number off, which nobody has done yet.
    #[track_caller]
    pub(crate) fn complete(&self, number: u64) {
        let bit = 1 << (number % 64);
        let before = self.bits[(number / 64) as usize].fetch_or(bit, Ordering::Relaxed);
        assert_eq!(before & bit, 0, "number {number} has been run twice");
        self.completed.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// How many have been crossed off.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Every number issued has been crossed off, and no other.
    #[track_caller]
    pub(crate) fn assert_complete(&self) {
        let issued = self.allocated();
        let is_completed =
            |number: u64| self.bits[(number / 64) as usize].load(Ordering::Relaxed) >> (number % 64) & 1 == 1;
        let never_run: Vec<_> = (0..issued).filter(|&number| !is_completed(number)).take(10).collect();
        assert!(never_run.is_empty(), "of {issued} numbers these, at least, were never run: {never_run:?}");
        assert_eq!(self.completed(), issued);
    }
}
