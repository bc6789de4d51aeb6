//! Detects a deadlock among the bees of one region that wait for each other's turns.
//!
//! In an ordered loop (`hive/region/collective/ordered.rs`) each bee waits, by polling a word, for a turn that another
//! bee has to pass on. If all other bees have left the region or wait as well, nobody will ever pass it on. This
//! detector finds that, and the loop then panics instead of hanging.
//!
//! Only a bee that has waited for long takes part. It declares that it is *stalled*: it does nothing for the other bees
//! until it takes that back. When all bees that have not left the region are stalled, each checks once more that its
//! own turn has not come, and *confirms* that. When all of them have confirmed, and none has become stalled or stopped
//! being so in the meantime, nobody will ever go on. The proof is in `docs/collectives.md`, "Turns that never come".

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use crate::protocol::Team;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicBool, AtomicU64, Ordering, on_drop};

/// The shared word: how many bees of the region are stalled, and how many of those have confirmed it.
///
/// ```text
///   63                      32 31            16 15             0
///  ┌──────────────────────────┬────────────────┬────────────────┐
///  │         changes          │   confirmed    │    stalled     │
///  └──────────────────────────┴────────────────┴────────────────┘
/// ```
///
/// - `stalled`: the bees that are stalled.
/// - `confirmed`: those of them that have confirmed, since the last change, that their turn has not come.
/// - `changes`: how often a bee has become stalled or stopped being so, modulo 2^32. Each change sets `confirmed` back
///   to 0. If the count wraps around, a bee may mistake its confirmation of long ago for one of now. It then does not
///   confirm again, and the deadlock is not reported; nothing else happens.
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

    /// The word after a change to `stalled` stalled bees, none of which has confirmed.
    fn with_stalled(self, stalled: u32) -> Self {
        let changes = self.0 & !(Self::CHANGE - 1);
        Self(changes.wrapping_add(Self::CHANGE) | u64::from(stalled))
    }

    /// The word after a confirmation.
    fn with_confirmation(self) -> Self {
        Self(self.0 + Self::CONFIRMED)
    }
}

/// The stalled bees of the running region. None is left when the region ends, because each takes its declaration back.
#[derive(Default)]
pub(crate) struct DeadlockDetector {
    /// A `StallWord`, changed by the bees that are stalled.
    word: CachePadded<AtomicU64>,
    /// Whether somebody outside the team may still do something for its bees: bees of a region around this one, or of
    /// one beside it. Written by the queen, before and after the region.
    has_outside_help: AtomicBool,
}

impl DeadlockDetector {
    /// Counts a bee that becomes stalled or stops being so: replaces the number of stalled bees by `new_count` of it.
    fn update(&self, new_count: impl Fn(u32) -> u32) {
        // Release: pairs with the Acquire in `confirm_deadlock`; all that a bee has done before it is stalled happens
        // before what others do after they have seen it stalled. All changes of the word are read-modify-writes, so a
        // bee that reads a later one has synchronized with the earlier ones too. Failure is Relaxed: the loop tries
        // again.
        let next = |word| Some(StallWord(word).with_stalled(new_count(StallWord(word).stalled())).0);
        let _ = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }
}

impl Team {
    /// Until the guard is dropped, regions of this team count as having help from outside: bees of a region around this
    /// one, or of another hive's region beside it, may bring what its bees wait for. So no deadlock is reported in them
    /// (`declare_stall`), and `ordered` goes by indices alone. The caller holds the queen lock.
    pub(crate) fn mark_outside_help(&self) -> impl Drop {
        // Relaxed, both: the start and the end of the region order these stores with everything that its bees do.
        self.deadlock_detector.has_outside_help.store(true, Ordering::Relaxed);
        on_drop(|| self.deadlock_detector.has_outside_help.store(false, Ordering::Relaxed))
    }
}

/// A stalled bee. It stops being stalled when this is dropped.
pub(crate) struct StallGuard<'m> {
    region: &'m RegionContext<'m>,
    /// The value of `changes` at which this bee last confirmed.
    last_confirmed: Cell<Option<u32>>,
}

impl RegionContext<'_> {
    /// Whether somebody outside the team may do something for its bees, because the region is inside another or beside
    /// one. The team has more than one bee.
    pub(crate) fn has_outside_help(&self) -> bool {
        // Relaxed: the start of the region orders this load after the store in `mark_outside_help`.
        self.team.deadlock_detector.has_outside_help.load(Ordering::Relaxed)
    }

    /// Declares that this bee is stalled: it does nothing for other bees of its team until the guard is dropped.
    ///
    /// Returns `None` where a deadlock cannot be told for certain: in a team of several groups, because a bee sees only
    /// who has left its own group, and where somebody outside the team may help.
    #[cold]
    pub(crate) fn declare_stall(&self) -> Option<StallGuard<'_>> {
        let detector = &self.team.deadlock_detector;
        if self.own_group.bees < self.bees || self.has_outside_help() {
            return None;
        }
        detector.update(|stalled| stalled + 1);
        Some(StallGuard { region: self, last_confirmed: Cell::new(None) })
    }
}

impl StallGuard<'_> {
    /// Whether none of the stalled bees will ever go on. Only one of them gets `true`: the last to confirm.
    /// `can_proceed` says whether the caller's own turn has come.
    #[cold]
    pub(crate) fn confirm_deadlock(&self, can_proceed: impl FnOnce() -> bool) -> bool {
        let region = self.region;
        let shared_word = &region.team.deadlock_detector.word;
        // Acquire: pairs with the Release in `update`. The look at the exits below, in `Barrier::bees_at_end`, pairs
        // with the Release in `Barrier::exit` and `Barrier::block_until_end`. So everything that was done by the bees
        // that are stalled or have left is visible to `can_proceed`.
        let word = StallWord(shared_word.load(Ordering::Acquire));
        // If nothing has changed since this bee confirmed, it must not be counted a second time.
        if self.last_confirmed.get() == Some(word.changes()) {
            return false;
        }
        let at_end = region.own_group.barrier.bees_at_end(&region.view());
        // In this order: `can_proceed` must see the state in which all bees are stalled or have left. If one of them
        // has left by a panic, it has poisoned the region before. Then that panic is what there is to report, and the
        // caller's wait ends by the poison.
        if word.stalled() + at_end < region.bees || can_proceed() || region.is_poisoned() {
            return false;
        }
        let confirmed = word.with_confirmation();
        // Relaxed: it hands nothing over. It fails if a bee has become stalled, stopped being so, or confirmed since
        // the word was read; the caller then asks again later.
        if shared_word.compare_exchange(word.0, confirmed.0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        self.last_confirmed.set(Some(word.changes()));
        confirmed.confirmed() == confirmed.stalled()
    }
}

impl Drop for StallGuard<'_> {
    fn drop(&mut self) {
        self.region.team.deadlock_detector.update(|stalled| stalled - 1);
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
