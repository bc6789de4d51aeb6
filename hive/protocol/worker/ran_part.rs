//! What a worker goes by after its part of a region: it learns from that how long to poll, and where to sleep.

use crate::protocol::region::region_context::RegionContext;

/// What is known of a worker's part of a region after it.
pub(crate) struct RanPart {
    /// Whether it was part of a loop, which another bee could have run.
    pub(crate) is_loop: bool,
    /// Whether the worker has met the other bees at a barrier.
    pub(crate) has_met_others: bool,
}

impl RanPart {
    /// What the context of the part says.
    #[inline(always)]
    pub(crate) fn of(context: &RegionContext<'_>) -> Self {
        Self { is_loop: context.is_loop(), has_met_others: context.barriers_passed() > 0 }
    }
}
