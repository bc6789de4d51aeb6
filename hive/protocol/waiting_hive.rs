//! Which hive's bees wait for another hive's bees: one word for each hive. `pool/wait_graph.rs` holds these words and
//! asks before each such wait whether it would close a cycle. See `docs/waits-between-hives.md`.
//!
//! A thread that is about to wait for bees of another hive first writes that down. Then it checks whether those bees
//! may themselves be waiting for bees of the thread's own hive, directly or through further hives. If several threads
//! are about to close a cycle together, the one that writes last sees the whole cycle and does not wait.

use crate::sync::{AtomicU64, Ordering, fence};

/// A number that no hive has.
pub(crate) const NO_HIVE: u64 = 0;

/// Names the hive whose bee waits for bees of this hive: either because that bee is this hive's queen, or because it
/// drops this hive. There is at most one such bee at a time, so one word is enough. At first none waits.
#[derive(Default)]
pub(crate) struct WaitingHive {
    /// The waiting hive's number; `NO_HIVE` if none waits. Written by the thread that holds this hive's queen lock or
    /// drops this hive; read by any thread that searches for a cycle.
    number: AtomicU64,
}

impl WaitingHive {
    /// The number of the waiting hive; `NO_HIVE` if none waits.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        // Relaxed: the fence in `replace_and_fence` orders this load with what other threads have written before their
        // own fences. A reader that still sees a wait that is already over may find a cycle where there is none; it
        // then does without a wait, which is allowed.
        self.number.load(Ordering::Relaxed)
    }

    /// Writes down that a bee of hive `number` may come to wait for bees of this hive: for whichever bee takes one of
    /// its tasks. That bee learns of the note together with the task, so no fence is needed.
    ///
    /// Returns the number that was there before. The caller puts it back when the wait is over, with this same
    /// function.
    #[inline]
    pub(crate) fn replace(&self, number: u64) -> u64 {
        // Relaxed, both: only one thread at a time holds this hive's queen lock or drops this hive, and the hand-over
        // of the lock orders its accesses with those of the thread before.
        let before = self.number.load(Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        before
    }

    /// As `replace`, for a thread that then searches for a cycle and, if there is none, waits.
    #[inline]
    pub(crate) fn replace_and_fence(&self, number: u64) -> u64 {
        let before = self.replace(number);
        // SeqCst: pairs with itself on other threads. Of several threads that each write here and then read what the
        // others have written, the one whose fence comes last in the order of fences sees the writes of all others, and
        // everything that those threads knew by then.
        fence(Ordering::SeqCst);
        before
    }
}

/// Whether a wait for bees of hive `target`, by a bee of hive `own`, closes a cycle: whether bees of `target` already
/// wait for bees of `own`, directly or through other hives.
///
/// `waiter_of(h)` is the hive whose bee waits for bees of hive `h`, or `NO_HIVE`. `hives` is the number of living
/// hives.
pub(crate) fn closes_cycle(own: u64, target: u64, hives: usize, waiter_of: impl Fn(u64) -> u64) -> bool {
    let mut hive = own;
    // Each hive has at most one waiter, so the search follows a single chain. It is limited to the number of hives,
    // because the chain may run into a cycle of other hives and would never end. (Those that have written such a cycle
    // will see it and not wait.)
    for _ in 0..hives {
        hive = waiter_of(hive);
        if hive == target || hive == NO_HIVE {
            break;
        }
    }
    hive == target
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `closes_cycle`, among hives 1 to 5: `waits[n]` is the hive whose bees wait for those of hive `n`.
    fn closes_cycle_in(waits: [u64; 6], own: u64, target: u64) -> bool {
        closes_cycle(own, target, waits.len() - 1, |hive| waits[hive as usize])
    }

    #[test]
    fn a_cycle_over_several_hives_is_found() {
        // Hive 3 waits for hive 2, which waits for hive 1.
        let waits = [0, 2, 3, 0, 0, 0];
        assert!(closes_cycle_in(waits, 1, 2) && closes_cycle_in(waits, 1, 3) && closes_cycle_in(waits, 2, 3));
        assert!(!closes_cycle_in(waits, 3, 1) && !closes_cycle_in(waits, 2, 1) && !closes_cycle_in(waits, 1, 4));
    }

    #[test]
    fn a_cycle_elsewhere_ends_the_search() {
        // Hives 2 and 3 wait for each other, and hive 2 waits for hive 1 as well.
        let waits = [0, 2, 3, 2, 0, 0];
        assert!(!closes_cycle_in(waits, 1, 4));
        assert!(closes_cycle_in(waits, 1, 3));
    }
}
