//! What a call says of its loop: who may run which part of it. `lone_loops.rs` decides by that, among other things, on
//! which team the loop runs.

use std::cell::Cell;

use crate::pool::loop_costs::LoopSize;

/// Who may run which part of a loop.
#[derive(Clone, Copy)]
pub(crate) enum LoopKind<'l> {
    /// The parts belong to bees by their numbers.
    OfBees,
    /// The body does not know which bee it runs on: as the only bee of a team of one, it does all of the loop.
    Anonymous,
    /// The same, in one block for each bee. If it is known to be long enough to wake the workers, who all sleep, it is
    /// not run, and its size is stored here: the caller then calls once more, for the same loop in chunks that are
    /// handed out. (That call has a turn of its own.)
    Blocks(&'l Cell<Option<LoopSize>>),
    /// That second call, with that size.
    HandedOut(LoopSize),
}
