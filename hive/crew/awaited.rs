//! Which hive's bees wait for which other's: one word a hive. See `docs/waits.md`.
//!
//! Whoever is about to wait writes that down first and looks afterwards whether somebody waits for it in turn, perhaps
//! over several hives. Of those whose waits would close a circle the last one to write sees all of it.

use crate::sync::{AtomicU64, Ordering, fence};

/// The number of no hive.
pub(crate) const NOBODY: u64 = 0;

/// The hive whose bee waits for bees of this one: because it has this one's turn, or drops this one. There is one at
/// most.
pub(crate) struct Awaited {
    by: AtomicU64,
}

impl Awaited {
    pub(crate) fn new() -> Self {
        Self { by: AtomicU64::new(NOBODY) }
    }

    /// The number of that hive.
    #[inline]
    pub(crate) fn by(&self) -> u64 {
        // Relaxed: the fence in `mark_and_look` orders it with what others have written before theirs. Whoever reads of
        // a wait that is over takes a circle for closed that is not, and does without a wait.
        self.by.load(Ordering::Relaxed)
    }

    /// Writes down that a bee of hive `number` may come to wait, for whoever takes a task of its: that one comes to
    /// know of this by the task. Returns what was there; the caller gives that back, by this as well.
    #[inline]
    pub(crate) fn mark(&self, number: u64) -> u64 {
        // Relaxed, both: only one at a time has the turn, or the hive, and what it had before was handed on with that.
        let before = self.by.load(Ordering::Relaxed);
        self.by.store(number, Ordering::Relaxed);
        before
    }

    /// The same for one that waits as soon as it has looked whether that closes a circle.
    #[inline]
    pub(crate) fn mark_and_look(&self, number: u64) -> u64 {
        let before = self.mark(number);
        // Pairs with itself: of several who write here and then look at what the others have written, the one whose
        // fence comes last sees it all, with what each of them knew.
        fence(Ordering::SeqCst);
        before
    }
}

/// Whether a wait for bees of hive `target`, by a bee of hive `own`, closes a circle: whether bees of `target` wait for
/// those of `own`. `by` says whose bees wait for those of a hive, and `hives` is how many there are.
pub(crate) fn is_circle(own: u64, target: u64, hives: usize, by: impl Fn(u64) -> u64) -> bool {
    let mut hive = own;
    // A circle that others have closed elsewhere does not end. They have not begun to wait.
    for _ in 0..hives {
        hive = by(hive);
        if hive == target || hive == NOBODY {
            break;
        }
    }
    hive == target
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The waits among hives of the numbers 1 to 5: `waits[n]` is whose bees wait for those of hive n.
    fn is_circle_in(waits: [u64; 6], own: u64, target: u64) -> bool {
        is_circle(own, target, waits.len() - 1, |hive| waits[hive as usize])
    }

    #[test]
    fn who_is_waited_for_over_several_hives_is_found() {
        // 3 waits for 2, that for 1.
        let waits = [0, 2, 3, 0, 0, 0];
        assert!(is_circle_in(waits, 1, 2) && is_circle_in(waits, 1, 3) && is_circle_in(waits, 2, 3));
        assert!(!is_circle_in(waits, 3, 1) && !is_circle_in(waits, 2, 1) && !is_circle_in(waits, 1, 4));
    }

    #[test]
    fn a_circle_elsewhere_ends_the_search() {
        // 2 and 3 wait for each other, and 2 for 1.
        let waits = [0, 2, 3, 2, 0, 0];
        assert!(!is_circle_in(waits, 1, 4));
        assert!(is_circle_in(waits, 1, 3));
    }
}
