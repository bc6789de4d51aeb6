//! How far a bee is in its region: whether that is a loop, whether the bee is in the middle of a call, and whether it
//! has failed. Changed by `call.rs`.

use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::panics::Unfinished;

/// How far a bee is in its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// In the region's body, outside of all calls.
    InBody,
    /// In its part of a loop that is a region of its own, whose parts do not wait for each other.
    InLoop,
    /// In the middle of this call; the innermost, if it is in several.
    InCall(Operation),
    /// It has not completed this. It will pass no barrier of the region any more.
    Failed(Unfinished),
}
