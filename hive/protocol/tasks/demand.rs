//! What a bee that has joins to share knows of the bees without work: whether some of them may want more than it has
//! offered them already. `share_joins.rs` asks at each join. Why, and what must not be missed, is in `docs/sleep.md`,
//! "Joins".

use std::cell::Cell;

use crate::sync::{AtomicU64, Ordering};

/// The demand for work, as one bee has answered it.
pub(crate) struct Demand<'c> {
    /// A word that changes whenever a bee may have come to want work.
    word: &'c AtomicU64,
    /// What the word was when this bee last offered as much as was wanted.
    answered: Cell<u64>,
    /// The kind of the tasks that it offered.
    kind: Cell<usize>,
    /// Whether there is such a word. If not, `word` stays as it is, and `answered` is something else for ever.
    is_known: bool,
}

impl<'c> Demand<'c> {
    /// The demand by a word that changes with it. Nobody wants anything while it is 0 for the first time.
    pub(crate) fn by_word(word: &'c AtomicU64) -> Self {
        Self { word, answered: Cell::new(0), kind: Cell::new(0), is_known: true }
    }

    /// A demand of which nothing is known, so that there may always be some. `unchanging` is 0, and stays 0.
    pub(crate) fn unknown(unchanging: &'c AtomicU64) -> Self {
        Self { word: unchanging, answered: Cell::new(1), kind: Cell::new(0), is_known: false }
    }

    /// Whether some bee may want work that has not been offered any. A hint.
    #[inline(always)]
    pub(crate) fn is_unanswered(&self) -> bool {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed) != self.answered.get()
    }

    /// Whether some bee may want work that has not been offered any of this kind. A hint.
    #[inline(always)]
    pub(crate) fn is_unanswered_by(&self, kind: usize) -> bool {
        self.is_unanswered() || self.kind.get() != kind
    }

    /// The kind of the tasks that were offered last.
    pub(crate) fn kind(&self) -> usize {
        self.kind.get()
    }

    /// Notes that all who want work now have been offered some, and that it is of this kind.
    pub(crate) fn answer(&self, kind: usize) {
        if self.is_known {
            // Relaxed: as above. A bee that has come to want work since the offer finds that, or asks again.
            self.answered.set(self.word.load(Ordering::Relaxed));
        }
        self.kind.set(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_is_answered_until_the_word_changes() {
        let word = AtomicU64::new(0);
        let demand = Demand::by_word(&word);
        assert!(!demand.is_unanswered());
        word.store(5, Ordering::Relaxed);
        assert!(demand.is_unanswered());
        demand.answer(7);
        assert!(!demand.is_unanswered());
        word.store(0, Ordering::Relaxed);
        assert!(demand.is_unanswered());
    }

    #[test]
    fn a_demand_is_answered_for_tasks_of_one_kind() {
        let word = AtomicU64::new(5);
        let demand = Demand::by_word(&word);
        demand.answer(7);
        assert!(!demand.is_unanswered_by(7) && demand.is_unanswered_by(8));
        demand.answer(8);
        assert!(demand.is_unanswered_by(7) && !demand.is_unanswered_by(8));
    }

    #[test]
    fn an_unknown_demand_is_never_answered() {
        let unchanging = AtomicU64::new(0);
        let demand = Demand::unknown(&unchanging);
        assert!(demand.is_unanswered());
        demand.answer(7);
        assert!(demand.is_unanswered() && demand.is_unanswered_by(7));
    }
}
