//! What a call says of its loop: who may run which part of it. `lone_loops.rs` decides by that, among other things, on
//! which team the loop runs.

use crate::pool::loop_costs::LoopSize;
use crate::pool::sharing::Sharing;
use crate::protocol::region::body::BodyKey;

/// A loop on a team of at least two bees.
#[derive(Clone, Copy)]
pub(crate) struct LoopCall {
    pub(crate) bees: u32,
    /// Whether the program has asked for so many bees, by a plan. A hive that has fewer when the loop starts is made
    /// larger then. If the program has not asked, the hive had so many when the loop was called. If it has been made
    /// smaller since, it stays so, and the bees that are surplus take part all the same.
    pub(crate) is_planned: bool,
    /// Whether the body, as the only bee of a team of one, does all of the loop.
    pub(crate) may_run_as_one: bool,
    pub(crate) size: LoopSize,
}

/// Who may run which part of a loop.
#[derive(Clone, Copy)]
pub(crate) enum LoopKind {
    /// The parts belong to bees by their numbers.
    OfBees(Sharing),
    /// The body does not know which bee it runs on: as the only bee of a team of one, it does all of the loop.
    Anonymous(Sharing),
    /// The same, and how much work it is, is known by this key and not by that of its body.
    KnownBy(BodyKey, Sharing),
}

impl LoopKind {
    /// How the bees of the loop share its indices.
    pub(crate) fn sharing(self) -> Sharing {
        let (Self::OfBees(sharing) | Self::Anonymous(sharing) | Self::KnownBy(_, sharing)) = self;
        sharing
    }
}
