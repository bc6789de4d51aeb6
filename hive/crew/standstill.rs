//! Members that wait for one another by a word of the caller's, each for a turn that another would have to pass on: this finds out whether
//! none of them will ever go on, because all the others have left the region or wait as well.
//!
//! Only who has waited for long asks. It says that it *stands*; who stands does nothing for the others until it says that it goes.
//! When all who have not left the region stand, each makes sure once more that its own turn has not come, and *confirms* that.
//! When all have confirmed and nobody has come or gone meanwhile, nobody ever will.

use std::cell::Cell;

use crossbeam_utils::CachePadded;

use super::{Crew, Member};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// How many members of the region stand.
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
struct Word(u64);

impl Word {
    const CONFIRMED: u64 = 1 << 16;
    const CHANGE: u64 = 1 << 32;

    fn standing(self) -> u32 {
        u32::from(self.0 as u16)
    }

    fn confirmed(self) -> u32 {
        u32::from((self.0 >> 16) as u16)
    }

    fn changes(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// With so many standing instead, of whom none has confirmed.
    fn changed(self, standing: u32) -> Self {
        let changes = self.0 & !(Self::CHANGE - 1);
        Self(changes.wrapping_add(Self::CHANGE) | u64::from(standing))
    }

    fn one_more_confirmed(self) -> Self {
        Self(self.0 + Self::CONFIRMED)
    }
}

/// Who stands in the region that is on. All have gone before it ends.
pub(super) struct Standstill {
    word: CachePadded<AtomicU64>,
    /// Whether others than the team's members may be about to do something for them: those of a region around this one, or beside it.
    is_among_others: AtomicBool,
}

impl Standstill {
    pub(super) fn new() -> Self {
        Self { word: CachePadded::new(AtomicU64::new(0)), is_among_others: AtomicBool::new(false) }
    }

    /// One comes, or goes.
    fn change(&self, standing: impl Fn(u32) -> u32) {
        // Release: pairs with the Acquire in `is_for_ever`; whatever a member has done before it stands has happened before
        // others see that it does. All changes are swaps, so the last one stands for those before. Failure is Relaxed: this
        // tries again.
        let change = |word| Some(Word(word).changed(standing(Word(word).standing())).0);
        let _ = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, change);
    }
}

impl Crew {
    /// The region that the caller, whose turn it is, begins next is inside of another or beside it, whose members may do something
    /// for this one's. Until the guard is dropped.
    pub(crate) fn among_others(&self) -> impl Drop {
        struct Among<'c>(&'c AtomicBool);
        impl Drop for Among<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        // Relaxed, both: the region's start and end order it with all that its members do.
        self.standstill.is_among_others.store(true, Ordering::Relaxed);
        Among(&self.standstill.is_among_others)
    }
}

/// A member that stands, until this is dropped.
pub(crate) struct Standing<'m> {
    member: &'m Member<'m>,
    /// The changes before the last confirmation.
    confirmed: Cell<Option<u32>>,
}

impl Member<'_> {
    /// Whether others than its team's members may do something for them: its region is inside another or beside it. Its team is of more than one.
    pub(crate) fn is_among_others(&self) -> bool {
        // Relaxed: see `among_others`.
        self.crew().standstill.is_among_others.load(Ordering::Relaxed)
    }

    /// Stands: does nothing for others of its team until the guard is dropped. None where it cannot be told who has left, because
    /// the team meets in several groups, or where others may do something for it.
    #[cold]
    pub(crate) fn stand(&self) -> Option<Standing<'_>> {
        let standstill = &self.crew().standstill;
        if self.own().size < self.team() || self.is_among_others() {
            return None;
        }
        standstill.change(|standing| standing + 1);
        Some(Standing { member: self, confirmed: Cell::new(None) })
    }
}

impl Standing<'_> {
    /// Whether none of those who stand will ever go on. One of them is told, the last to confirm. `may_go`: whether the caller may.
    #[cold]
    pub(crate) fn is_for_ever(&self, may_go: impl FnOnce() -> bool) -> bool {
        let member = self.member;
        let word_of_all = &member.crew().standstill.word;
        // Acquire: pairs with the Release in `change`, and the look at who has left with the Release in `Muster::leave`. All that was done by
        // those who stand or have left is seen below.
        let word = Word(word_of_all.load(Ordering::Acquire));
        if self.confirmed.get() == Some(word.changes()) {
            return false;
        }
        let left = member.own().muster.left(&member.account());
        // In this order: `may_go` asks about what is so when all stand.
        if word.standing() + left < member.team() || may_go() {
            return false;
        }
        let confirmed = word.one_more_confirmed();
        // Relaxed: hands nothing over. It fails if somebody has come or gone since, or has confirmed.
        if word_of_all.compare_exchange(word.0, confirmed.0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        self.confirmed.set(Some(word.changes()));
        confirmed.confirmed() == confirmed.standing()
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.member.crew().standstill.change(|standing| standing - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_or_goes_voids_all_confirmations() {
        let word = Word(0).changed(2);
        assert_eq!((word.standing(), word.confirmed(), word.changes()), (2, 0, 1));
        let word = word.one_more_confirmed().one_more_confirmed();
        assert_eq!((word.standing(), word.confirmed(), word.changes()), (2, 2, 1));
        let word = word.changed(1);
        assert_eq!((word.standing(), word.confirmed(), word.changes()), (1, 0, 2));
    }

    #[test]
    fn changes_come_round_by_themselves() {
        let word = Word(u64::from(u32::MAX) << 32).changed(3);
        assert_eq!((word.standing(), word.confirmed(), word.changes()), (3, 0, 0));
    }
}
