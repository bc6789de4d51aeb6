//! A log for tests in which every task must be run exactly once. Each task gets a number, and the task marks its number
//! as completed when it runs.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers that have been allocated, and which of them are completed.
pub(crate) struct CompletionLog {
    allocated: AtomicU64,
    completed: AtomicU64,
    /// One bit for each number.
    bits: Box<[AtomicU64]>,
}

impl CompletionLog {
    /// A log of up to `max` numbers.
    pub(crate) fn new(max: u64) -> Self {
        let bits = (0..max.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { allocated: AtomicU64::new(0), completed: AtomicU64::new(0), bits }
    }

    /// Allocates `count` new numbers.
    pub(crate) fn allocate(&self, count: u64) -> Range<u64> {
        let first = self.allocated.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }

    /// Whether there is room for another `count` numbers for each of many threads.
    pub(crate) fn can_allocate(&self, count: u64) -> bool {
        self.allocated.load(Ordering::Relaxed) + count < 64 * self.bits.len() as u64
    }

    /// Marks a number as completed. Panics if it is already.
    #[track_caller]
    pub(crate) fn complete(&self, number: u64) {
        let bit = 1 << (number % 64);
        let before = self.bits[(number / 64) as usize].fetch_or(bit, Ordering::Relaxed);
        assert_eq!(before & bit, 0, "number {number} has been run twice");
        // Release: pairs with the Acquire in `completed`, so that a thread that sees the count also sees the bit above
        // and what the task has done.
        self.completed.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// How many numbers are completed.
    pub(crate) fn completed(&self) -> u64 {
        // Acquire: pairs with the Release in `complete`.
        self.completed.load(Ordering::Acquire)
    }

    /// Panics unless every allocated number is completed, and no other.
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
