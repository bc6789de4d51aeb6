//! How a scope (`tasks/scope.rs`) counts its tasks, so that the one that ends last sets the scope's latch.
//!
//! The count is one word that travels between the bees that change it. So the body of the scope, and each task that
//! spawns others, takes a large *credit* from it once, spawns against that without an atomic operation, and gives back
//! what is left as it ends. Whoever has a credit is counted, too, so that the count does not become zero before.

#![allow(unsafe_code)]

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// The number of tasks of one scope that have not ended, its body among them, and the credits of those that run. It has
/// a cache line of its own, because every task reads what lies beside it.
pub(crate) struct ScopeCount(CachePadded<AtomicU64>);

/// How many tasks the body or a task may still spawn that are counted already. Only the thread that runs the body or
/// that task uses it.
pub(crate) struct Credit(Cell<u64>);

/// What is taken at one time. A sum of as many credits as there can be threads, or tasks that a thread is in the middle
/// of, does not overflow the count.
const CREDIT: u64 = 1 << 32;

impl ScopeCount {
    /// The count of a scope whose body is about to run, and the credit of the body.
    pub(crate) fn new() -> (Self, Credit) {
        (Self(CachePadded::new(AtomicU64::new(1 + CREDIT))), Credit(Cell::new(CREDIT)))
    }

    /// Counts a task that is about to be spawned by the body or the task that `credit` belongs to.
    #[inline(always)]
    pub(crate) fn add(&self, credit: &Credit) {
        if credit.0.get() == 0 {
            // Relaxed: a count. It comes before the task is queued; what the task may read is handed over by the queue.
            self.0.fetch_add(CREDIT, Ordering::Relaxed);
            credit.0.set(CREDIT);
        }
        credit.0.set(credit.0.get() - 1);
    }

    /// Counts a task that another thread is about to spawn while the body or a task runs, which has lent it the scope.
    pub(crate) fn add_from_another_thread(&self) {
        // Relaxed: as in `add`.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the body or the task that `credit` belongs to as ended. Returns whether nothing is left; everything that
    /// the body and the tasks have done has happened then.
    ///
    /// It takes a pointer because a reference that is an argument promises that its target lives to the function's end.
    ///
    /// # Safety
    /// The body or the task is counted, and is ended once. The count may be gone when this returns.
    #[inline(always)]
    pub(crate) unsafe fn end(this: *const Self, credit: Credit) -> bool {
        let ended = 1 + credit.0.get();
        // SAFETY: what is counted keeps the count alive until the subtraction.
        let count: &AtomicU64 = unsafe { &(*this).0 };
        // AcqRel: pairs with itself in all other tasks. The one that ends last has seen what all others did, and hands
        // that on by setting the latch.
        count.fetch_sub(ended, Ordering::AcqRel) == ended
    }

    /// Whether nothing is left. Everything that the body and the tasks have done has happened then.
    pub(crate) fn is_zero(&self) -> bool {
        // Acquire: pairs with the AcqRel in `end`.
        self.0.load(Ordering::Acquire) == 0
    }
}

impl Credit {
    /// The credit of a task that has spawned none.
    #[inline(always)]
    pub(crate) fn none() -> Self {
        Self(Cell::new(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(count: &ScopeCount, credit: Credit) -> bool {
        // SAFETY: each test counts as many as it ends.
        unsafe { ScopeCount::end(count, credit) }
    }

    #[test]
    fn the_count_ends_with_the_last_task_whoever_has_spawned_it() {
        let (count, body) = ScopeCount::new();
        let [parent, child, other] = [(); 3].map(|()| Credit::none());
        count.add(&body);
        count.add(&parent);
        count.add_from_another_thread();
        assert!(!end(&count, body) && !end(&count, child) && !end(&count, parent) && !count.is_zero());
        assert!(end(&count, other) && count.is_zero());
    }

    #[test]
    fn a_credit_that_is_used_up_is_followed_by_another() {
        let (count, body) = ScopeCount::new();
        body.0.set(1);
        count.0.store(2, Ordering::Relaxed);
        count.add(&body);
        count.add(&body);
        assert_eq!(body.0.get(), CREDIT - 1);
        assert!(!end(&count, Credit::none()) && !end(&count, Credit::none()) && end(&count, body));
    }
}
