//! What a bee does: steps, one after the other.

/// Words of a line that matter.
pub(super) const WORDS: usize = 3;

/// A word of a line. All words only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) line: usize,
    pub(super) word: usize,
}

/// The words of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Words(pub(super) usize);

impl Words {
    /// The region that has been started, or the barrier that is over.
    pub(super) fn start(self) -> Cell {
        Cell { line: self.0, word: 0 }
    }

    /// How many bees have come to the end of a region.
    pub(super) fn left(self) -> Cell {
        Cell { line: self.0, word: 1 }
    }

    /// How many bees have come to a barrier.
    pub(super) fn arrivals(self) -> Cell {
        Cell { line: self.0, word: 2 }
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Work that other bees do not see, for so many picoseconds.
    Work(u64),
    /// A plain store.
    Store(Cell, u64),
    /// Adds one, in one indivisible step.
    Add(Cell),
    /// A store, only by the bee whose last addition reached the goal.
    StoreIfLast { goal: u64, cell: Cell, value: u64 },
    /// Polls until the word is no less.
    Await(Cell, u64),
    /// Notes the time.
    Mark,
    /// Waits until all bees are here, at no cost.
    Meet,
}
