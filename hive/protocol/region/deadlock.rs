//! Bees that wait for one another by a word of the caller's, each for a turn that another would have to pass on: this finds out whether
//! none of them will ever go on, because all the others have left the region or wait as well.
//!
//! Only who has waited for long asks. It says that it *stands*; who stands does nothing for the others until it says that it goes.
//! When all who have not left the region stand, each makes sure once more that its own turn has not come, and *confirms* that.
//! When all have confirmed and nobody has come or gone meanwhile, nobody ever will.

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use crate::protocol::Team;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// How many bees of the region stand.
///
/// ```text
///   63                      32 31            16 15             0
///  ┌──────────────────────────┬────────────────┬────────────────┐
///  │         changes          │   confirmed    │    standing    │
///  └──────────────────────────┴────────────────┴────────────────┘
/// ```
///
/// With each that comes or goes the changes rise, and nothing is confirmed any more. That they come round harms nobody: who takes
/// its confirmation for one of these does not confirm again, and then nobody complains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StallWord(u64);

impl StallWord {
    const CONFIRMED: u64 = 1 << 16;
    const CHANGE: u64 = 1 << 32;

    fn stalled(self) -> u32 {
        u32::from(self.0 as u16)
    }

    fn confirmed(self) -> u32 {
        u32::from((self.0 >> 16) as u16)
    }

    fn changes(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// With so many standing instead, of whom none has confirmed.
    fn with_stalled(self, stalled: u32) -> Self {
        let changes = self.0 & !(Self::CHANGE - 1);
        Self(changes.wrapping_add(Self::CHANGE) | u64::from(stalled))
    }

    fn with_confirmation(self) -> Self {
        Self(self.0 + Self::CONFIRMED)
    }
}

/// Who stands in the region that is on. All have gone before it ends.
pub(crate) struct DeadlockDetector {
    word: CachePadded<AtomicU64>,
    /// Whether others than the team's bees may be about to do something for them: those of a region around this one, or beside it.
    has_outside_help: AtomicBool,
}

impl DeadlockDetector {
    pub(crate) fn new() -> Self {
        Self { word: CachePadded::new(AtomicU64::new(0)), has_outside_help: AtomicBool::new(false) }
    }

    /// One comes, or goes.
    fn update(&self, new_count: impl Fn(u32) -> u32) {
        // Release: pairs with the Acquire in `confirm_deadlock`; whatever a bee has done before it stands has happened before
        // others see that it does. All changes are swaps, so the last one stands for those before. Failure is Relaxed: this
        // tries again.
        let next = |word| Some(StallWord(word).with_stalled(new_count(StallWord(word).stalled())).0);
        let _ = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }
}

impl Team {
    /// The region that the caller, whose turn it is, begins next is inside of another or beside it, whose bees may do something
    /// for this one's. Until the guard is dropped.
    pub(crate) fn mark_outside_help(&self) -> impl Drop {
        struct OutsideHelpGuard<'c>(&'c AtomicBool);
        impl Drop for OutsideHelpGuard<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        // Relaxed, both: the region's start and end order it with all that its bees do.
        self.deadlock_detector.has_outside_help.store(true, Ordering::Relaxed);
        OutsideHelpGuard(&self.deadlock_detector.has_outside_help)
    }
}

/// A bee that stands, until this is dropped.
pub(crate) struct StallGuard<'m> {
    region: &'m RegionContext<'m>,
    /// The changes before the last confirmation.
    last_confirmed: Cell<Option<u32>>,
}

impl RegionContext<'_> {
    /// Whether others than its team's bees may do something for them: its region is inside another or beside it. Its team is of more than one.
    pub(crate) fn has_outside_help(&self) -> bool {
        // Relaxed: see `mark_outside_help`.
        self.team().deadlock_detector.has_outside_help.load(Ordering::Relaxed)
    }

    /// Stands: does nothing for others of its team until the guard is dropped. None where it cannot be told who has left, because
    /// the team meets in several groups, or where others may do something for it.
    #[cold]
    pub(crate) fn declare_stall(&self) -> Option<StallGuard<'_>> {
        let detector = &self.team().deadlock_detector;
        if self.own_group().bees < self.bees() || self.has_outside_help() {
            return None;
        }
        detector.update(|stalled| stalled + 1);
        Some(StallGuard { region: self, last_confirmed: Cell::new(None) })
    }
}

impl StallGuard<'_> {
    /// Whether none of those who stand will ever go on. One of them is told, the last to confirm. `can_proceed`: whether the caller may.
    #[cold]
    pub(crate) fn confirm_deadlock(&self, can_proceed: impl FnOnce() -> bool) -> bool {
        let region = self.region;
        let shared_word = &region.team().deadlock_detector.word;
        // Acquire: pairs with the Release in `change`, and the look at who has left with the Release in `Barrier::leave`. All that was done by
        // those who stand or have left is seen below.
        let word = StallWord(shared_word.load(Ordering::Acquire));
        if self.last_confirmed.get() == Some(word.changes()) {
            return false;
        }
        let exited = region.own_group().barrier.exited(&region.view());
        // In this order: `can_proceed` asks about what is so when all stand.
        if word.stalled() + exited < region.bees() || can_proceed() {
            return false;
        }
        let confirmed = word.with_confirmation();
        // Relaxed: hands nothing over. It fails if somebody has come or gone since, or has confirmed.
        if shared_word.compare_exchange(word.0, confirmed.0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        self.last_confirmed.set(Some(word.changes()));
        confirmed.confirmed() == confirmed.stalled()
    }
}

impl Drop for StallGuard<'_> {
    fn drop(&mut self) {
        self.region.team().deadlock_detector.update(|stalled| stalled - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_voids_all_confirmations() {
        let word = StallWord(0).with_stalled(2);
        assert_eq!((word.stalled(), word.confirmed(), word.changes()), (2, 0, 1));
        let word = word.with_confirmation().with_confirmation();
        assert_eq!((word.stalled(), word.confirmed(), word.changes()), (2, 2, 1));
        let word = word.with_stalled(1);
        assert_eq!((word.stalled(), word.confirmed(), word.changes()), (1, 0, 2));
    }

    #[test]
    fn the_count_of_changes_wraps_by_itself() {
        let word = StallWord(u64::from(u32::MAX) << 32).with_stalled(3);
        assert_eq!((word.stalled(), word.confirmed(), word.changes()), (3, 0, 0));
    }
}
