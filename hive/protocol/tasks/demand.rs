//! What a bee that has joins to share knows of the bees without work: whether some of them may want more than it has
//! offered them already. `share_joins.rs` asks at each join. Why, and what must not be missed, is in `docs/sleep.md`,
//! "Joins".

use std::cell::Cell;

use crate::sync::{AtomicU64, Ordering};

/// The demand for work, as one bee has answered it.
pub(crate) struct Demand<'c> {
    /// A word that changes whenever a bee may have come to want work, and also at other times.
    word: &'c AtomicU64,
    /// Those of its bits that change only when a bee has. 0: there is no such word. Then `word` is always 0 and
    /// `answered` is always 1, so they never match.
    asks: u64,
    /// What the word was when this bee last offered as much as was wanted.
    answered: Cell<u64>,
    /// `answered` plus the kind of the tasks that it offered, or would have if any had been wanted. The sum wraps.
    answered_kind: Cell<u64>,
}

impl<'c> Demand<'c> {
    /// The demand as told by `word`, whose bits `asks` change with each ask. While the word is still 0, `is_unanswered`
    /// says that nobody wants work.
    pub(crate) fn by_word(word: &'c AtomicU64, asks: u64) -> Self {
        Self { word, asks, answered: Cell::new(0), answered_kind: Cell::new(0) }
    }

    /// For a protocol without such a word: the demand always counts as unanswered. `unchanging` is 0, and stays 0.
    pub(crate) fn unknown(unchanging: &'c AtomicU64) -> Self {
        Self { answered: Cell::new(1), answered_kind: Cell::new(1), ..Self::by_word(unchanging, 0) }
    }

    /// Whether some bee may want work that has not been offered any. A hint.
    #[inline(always)]
    pub(crate) fn is_unanswered(&self) -> bool {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed) != self.answered.get()
    }

    /// Whether some bee may want work that has not been offered any of this kind. A hint.
    ///
    /// Each join calls this. One comparison of two sums is shorter than two comparisons, and different pairs hardly
    /// ever have the same sum: an ask changes the highest bits, and kinds are addresses of functions, which differ in
    /// lower ones.
    #[inline(always)]
    pub(crate) fn is_unanswered_by(&self, kind: usize) -> bool {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed).wrapping_add(kind as u64) != self.answered_kind.get()
    }

    /// The kind of the tasks that were offered last.
    // Out of line, because a join that offers nothing would keep in a register what this needs.
    #[cold]
    #[inline(never)]
    pub(crate) fn kind(&self) -> usize {
        self.answered_kind.get().wrapping_sub(self.answered.get()) as usize
    }

    /// The word of the demand as it is now. `Sleep::inactive_at` says how many bees want work by it.
    pub(crate) fn read(&self) -> u64 {
        // Acquire: pairs with the fence in `Team::share_lone_queens_tasks`, before its ask. Who has read that ask finds
        // that the hive has grown.
        self.word.load(Ordering::Acquire)
    }

    /// Notes that all who wanted work when `reading` was made have been offered some, and that it is of this kind. If a
    /// bee has asked since, it may not have been counted, so the demand stays unanswered.
    pub(crate) fn answer(&self, reading: u64, kind: usize) {
        // Relaxed: a hint. To post the offer has changed the word, too, but not those bits.
        let now = self.word.load(Ordering::Relaxed);
        if self.asks != 0 && (now ^ reading) & self.asks == 0 {
            self.answered.set(now);
        }
        self.answered_kind.set(self.answered.get().wrapping_add(kind as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits that change with each ask.
    const ASKS: u64 = 0xf0;

    #[test]
    fn a_demand_is_answered_until_the_word_changes() {
        let word = AtomicU64::new(0);
        let demand = Demand::by_word(&word, ASKS);
        assert!(!demand.is_unanswered());
        word.store(0x10, Ordering::Relaxed);
        assert!(demand.is_unanswered());
        demand.answer(demand.read(), 7);
        assert!(!demand.is_unanswered());
        word.store(0, Ordering::Relaxed);
        assert!(demand.is_unanswered());
    }

    #[test]
    fn who_asks_while_others_are_answered_stays_unanswered() {
        let word = AtomicU64::new(0x10);
        let demand = Demand::by_word(&word, ASKS);
        let reading = demand.read();
        // The offer changes the word, too.
        word.store(0x11, Ordering::Relaxed);
        demand.answer(reading, 7);
        assert!(!demand.is_unanswered());
        let reading = demand.read();
        word.store(0x22, Ordering::Relaxed);
        demand.answer(reading, 7);
        assert!(demand.is_unanswered());
    }

    #[test]
    fn a_demand_is_answered_for_tasks_of_one_kind() {
        let word = AtomicU64::new(0x10);
        let demand = Demand::by_word(&word, ASKS);
        demand.answer(demand.read(), 7);
        assert!(!demand.is_unanswered_by(7) && demand.is_unanswered_by(8));
        demand.answer(demand.read(), 8);
        assert!(demand.is_unanswered_by(7) && !demand.is_unanswered_by(8));
    }

    #[test]
    fn an_unknown_demand_is_never_answered() {
        let unchanging = AtomicU64::new(0);
        let demand = Demand::unknown(&unchanging);
        assert!(demand.is_unanswered());
        demand.answer(demand.read(), 7);
        assert!(demand.is_unanswered() && demand.is_unanswered_by(7));
    }
}
