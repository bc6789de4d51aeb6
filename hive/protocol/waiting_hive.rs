//! Which hive's bees wait for which other's: one word a hive. See `docs/waits-between-hives.md`.
//!
//! Whoever is about to wait writes that down first and looks afterwards whether somebody waits for it in turn, perhaps
//! over several hives. Of those whose waits would close a circle the last one to write sees all of it.

use crate::sync::{AtomicU64, Ordering, fence};

/// The number of no hive.
pub(crate) const NO_HIVE: u64 = 0;

/// The hive whose bee waits for bees of this one: because it has this one's turn, or drops this one. There is one at
/// most.
pub(crate) struct WaitingHive {
    number: AtomicU64,
}

impl WaitingHive {
    pub(crate) fn new() -> Self {
        Self { number: AtomicU64::new(NO_HIVE) }
    }

    /// The number of that hive.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        // Relaxed: the fence in `replace_and_fence` orders it with what others have written before theirs. Whoever reads of
        // a wait that is over takes a circle for closed that is not, and does without a wait.
        self.number.load(Ordering::Relaxed)
    }

    /// Writes down that a bee of hive `number` may come to wait, for whoever takes a task of its: that one comes to
    /// know of this by the task. Returns what was there; the caller gives that back, by this as well.
    #[inline]
    pub(crate) fn replace(&self, number: u64) -> u64 {
        // Relaxed, both: only one at a time has the turn, or the hive, and what it had before was handed on with that.
        let before = self.number.load(Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        before
    }

    /// The same for one that waits as soon as it has looked whether that closes a circle.
    #[inline]
    pub(crate) fn replace_and_fence(&self, number: u64) -> u64 {
        let before = self.replace(number);
        // Pairs with itself: of several who write here and then look at what the others have written, the one whose
        // fence comes last sees it all, with what each of them knew.
        fence(Ordering::SeqCst);
        before
    }
}

/// Whether a wait for bees of hive `target`, by a bee of hive `own`, closes a circle: whether bees of `target` wait for
/// those of `own`. `by` says whose bees wait for those of a hive, and `hives` is how many there are.
pub(crate) fn closes_cycle(own: u64, target: u64, hives: usize, waiter_of: impl Fn(u64) -> u64) -> bool {
    let mut hive = own;
    // A circle that others have closed elsewhere does not end. They have not begun to wait.
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

    /// The waits among hives of the numbers 1 to 5: `waits[n]` is whose bees wait for those of hive n.
    fn closes_cycle_in(waits: [u64; 6], own: u64, target: u64) -> bool {
        closes_cycle(own, target, waits.len() - 1, |hive| waits[hive as usize])
    }

    #[test]
    fn a_cycle_over_several_hives_is_found() {
        // 3 waits for 2, that for 1.
        let waits = [0, 2, 3, 0, 0, 0];
        assert!(closes_cycle_in(waits, 1, 2) && closes_cycle_in(waits, 1, 3) && closes_cycle_in(waits, 2, 3));
        assert!(!closes_cycle_in(waits, 3, 1) && !closes_cycle_in(waits, 2, 1) && !closes_cycle_in(waits, 1, 4));
    }

    #[test]
    fn a_cycle_elsewhere_ends_the_search() {
        // 2 and 3 wait for each other, and 2 for 1.
        let waits = [0, 2, 3, 2, 0, 0];
        assert!(!closes_cycle_in(waits, 1, 4));
        assert!(closes_cycle_in(waits, 1, 3));
    }
}
