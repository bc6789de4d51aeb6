//! How a scope (`tasks/scope.rs`) counts its tasks, so that the one that ends last sets the scope's latch.
//!
//! The count is one word that travels between the bees that change it. So each bee that spawns takes a large *credit*
//! from it once, spawns against that without an atomic operation, and gives back what is left. Whoever has a credit is
//! counted, too, so that the count does not become zero before. `held_credit.rs` says when a bee takes a credit, and
//! when it gives it back.

#![allow(unsafe_code)]

use std::cell::Cell;

use crate::sync::{AtomicU64, Ordering};

/// The number of tasks of one scope that have not ended, its body among them, and the credits of those that run.
pub(crate) struct ScopeCount(AtomicU64);

/// How many tasks a bee may still spawn that are counted already. Only the thread of that bee uses it.
pub(crate) type Credit = Cell<u64>;

/// What is taken at one time. A sum of as many credits as there can be threads, or tasks that a thread is in the middle
/// of, does not overflow the count.
const CREDIT: u64 = 1 << 32;

impl ScopeCount {
    /// The count of a scope whose body is about to run.
    pub(crate) fn of_body() -> Self {
        Self(AtomicU64::new(1))
    }

    /// Counts a task that is about to be spawned by the bee that `credit` belongs to, in the body or in a task.
    /// Afterwards there is still something left of the credit: who has spawned something keeps the scope from ending.
    #[inline(always)]
    pub(crate) fn add(&self, credit: &Credit) {
        let left = match credit.get() {
            few @ ..=1 => {
                // Relaxed: a count. It comes before the task is queued; what the task may read is handed over by the
                // queue.
                self.0.fetch_add(CREDIT, Ordering::Relaxed);
                few + CREDIT
            }
            many => many,
        };
        credit.set(left - 1);
    }

    /// Counts a task that another thread is about to spawn while the body or a task runs, which has lent it the scope.
    pub(crate) fn add_from_another_thread(&self) {
        // Relaxed: as in `add`.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes `units` of what is counted off: the body or tasks that have ended, and credits. Returns whether nothing is
    /// left; everything that the body and the tasks have done has happened then.
    ///
    /// It takes a pointer because a reference that is an argument promises that its target lives to the function's end.
    ///
    /// # Safety
    /// They are counted, and are taken off once. The count may be gone when this returns.
    #[inline(always)]
    pub(crate) unsafe fn subtract(this: *const Self, units: u64) -> bool {
        // SAFETY: what is counted keeps the count alive until the subtraction.
        let count = unsafe { &(*this).0 };
        // AcqRel: pairs with itself on all other threads. The one that comes last has seen what all others did, and
        // hands that on by setting the latch.
        count.fetch_sub(units, Ordering::AcqRel) == units
    }

    /// Whether nothing is left but `credit`, as far as this thread can see.
    #[inline(always)]
    pub(crate) fn is_covered_by(&self, credit: &Credit) -> bool {
        // Relaxed: a hint. Who takes the credit off sees whether it was the last.
        self.0.load(Ordering::Relaxed) == credit.get()
    }

    /// Whether nothing is left. Everything that the body and the tasks have done has happened then.
    pub(crate) fn is_zero(&self) -> bool {
        // Acquire: pairs with the AcqRel in `subtract`.
        self.0.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends the body or a task, and gives back what is left of its credit.
    fn end(count: &ScopeCount, credit: Credit) -> bool {
        // SAFETY: each test counts as many as it ends.
        unsafe { ScopeCount::subtract(count, 1 + credit.take()) }
    }

    #[test]
    fn the_count_ends_with_the_last_task_whoever_has_spawned_it() {
        let count = ScopeCount::of_body();
        let [body, parent, child, other] = [(); 4].map(|()| Credit::default());
        count.add(&body);
        count.add(&parent);
        count.add_from_another_thread();
        assert!(!end(&count, body) && !end(&count, child) && !end(&count, parent) && !count.is_zero());
        assert!(end(&count, other) && count.is_zero());
    }

    #[test]
    fn before_a_credit_is_used_up_there_is_another() {
        let (count, body) = (ScopeCount::of_body(), Credit::new(2));
        count.0.store(3, Ordering::Relaxed);
        count.add(&body);
        assert_eq!(body.get(), 1);
        count.add(&body);
        assert_eq!(body.get(), CREDIT);
        assert!(!end(&count, Credit::default()) && !end(&count, Credit::default()) && end(&count, body));
    }
}
