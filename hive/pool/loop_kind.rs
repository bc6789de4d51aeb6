//! What a call says of its loop: who may run which part of it. `lone_loops.rs` decides by that, among other things, on
//! which team the loop runs.

use std::cell::Cell;

use crate::pool::loop_costs::LoopSize;
use crate::pool::sharing::Sharing;

/// Who may run which part of a loop.
#[derive(Clone, Copy)]
pub(crate) enum LoopKind<'l> {
    /// The parts belong to bees by their numbers.
    OfBees(Sharing),
    /// The body does not know which bee it runs on: as the only bee of a team of one, it does all of the loop.
    Anonymous(Sharing),
    /// The same, in one block for each bee. If it is known to be long enough to wake the workers, who all sleep, these
    /// are called, but the loop is not run, and its size is stored here: the caller then calls once more, for the same
    /// loop in chunks that are handed out. (That call has a turn of its own.)
    Blocks(&'l Cell<Option<LoopSize>>),
    /// A loop in chunks that are handed out, for which the workers have been called. Its size is that of the loop that
    /// was put off.
    HandedOut(LoopSize),
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
