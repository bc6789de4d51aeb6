//! What a call says of its loop: who may run which part of it. `lone_loops.rs` decides by that, among other things, on
//! which team the loop runs.

use std::cell::Cell;

use crate::pool::loop_costs::LoopSize;
use crate::pool::sharing::Sharing;

/// A loop that has found all workers asleep, and for which they have been called.
#[derive(Clone, Copy)]
pub(crate) struct CalledLoop {
    pub(crate) size: LoopSize,
    /// When they were called, as `sys/clock.rs` has it.
    pub(crate) called_at: u64,
}

/// The team that a loop is to run on.
#[derive(Clone, Copy)]
pub(crate) struct LoopTeam {
    pub(crate) bees: u32,
    /// Whether the program has asked for so many bees, by a plan. A hive that has fewer when the loop starts is made
    /// larger then. If the program has not asked, the hive had so many when the loop was called. If it has been made
    /// smaller since, it stays so, and the bees that are surplus take part all the same.
    pub(crate) is_planned: bool,
}

/// Who may run which part of a loop.
#[derive(Clone, Copy)]
pub(crate) enum LoopKind<'l> {
    /// The parts belong to bees by their numbers.
    OfBees(Sharing),
    /// The body does not know which bee it runs on: as the only bee of a team of one, it does all of the loop.
    Anonymous(Sharing),
    /// The same, in one block for each bee. If it is known to be long enough to wake the workers, who all sleep, these
    /// are called, but the loop is not run, and what is known of it is stored here: the caller then comes once more,
    /// for the same loop in chunks that are handed out. (It waits for a turn of its own then.)
    Blocks(&'l Cell<Option<CalledLoop>>),
    /// That loop in chunks that are handed out.
    HandedOut(CalledLoop),
}

impl LoopKind<'_> {
    /// How the bees of the loop share its indices.
    pub(crate) fn sharing(self) -> Sharing {
        match self {
            Self::OfBees(sharing) | Self::Anonymous(sharing) => sharing,
            Self::Blocks(_) => Sharing::EqualParts,
            Self::HandedOut(_) => Sharing::AsTheyCome,
        }
    }
}
