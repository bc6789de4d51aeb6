//! What a `Loop` is made of, in a form that the bees which call `Bee::for_range` can compare.

use std::fmt;

use crate::loops::schedule::Schedule;

/// Which indices a loop has, and how they are divided among the bees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoopSpec {
    /// The first index, and the end of all indices.
    pub(crate) range: (usize, usize),
    pub(crate) schedule: Schedule,
    /// All blocks and chunks begin at multiples of this, except where `range` itself begins. At least 1.
    pub(crate) multiple: usize,
    /// Each bee that takes part has at least this many indices. 0: every bee takes part, with or without indices.
    pub(crate) min_work: usize,
    /// The number of bees among which the range is divided, whatever the size of the team. Under `Static`, bee `i` runs
    /// the block `i`, and in a smaller team the blocks of the bees that are missing as well. 0: the range is divided
    /// among the bees that take part.
    pub(crate) owners: usize,
}

impl fmt::Display for LoopSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} by {:?}", self.range.0, self.range.1, self.schedule)?;
        if self.multiple > 1 {
            write!(f, ", aligned to {}", self.multiple)?;
        }
        match self.owners {
            0 if self.min_work > 1 => write!(f, ", at least {} for each bee", self.min_work),
            0 => Ok(()),
            owners => write!(f, ", in the blocks of {owners} bees"),
        }
    }
}
