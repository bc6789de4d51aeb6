//! What the protocol asks of the layer above it: what the calling thread is inside of.
//!
//! The library keeps a list of the regions and tasks that a thread is inside of (`hive/region/nesting.rs`). A few steps of
//! the protocol need it, all of them off the fast path: code of the program that runs at the end of a region has to run
//! inside of that region. The protocol must not depend on the layer above, so a team is given the functions as values.

use crate::protocol::region::region_context::RegionContext;

/// The functions that a team calls. By default there is no list: every call runs at once, and no thread is in a region.
#[derive(Clone, Copy)]
pub(crate) struct Nesting {
    /// Runs the closure while the calling thread counts as inside the region.
    pub(crate) run_within: fn(&RegionContext<'_>, &mut dyn FnMut()),
    /// Whether the calling thread is inside the region with this key: see [`RegionContext::region_key`].
    pub(crate) is_in_region: fn(u64) -> bool,
}

impl Default for Nesting {
    fn default() -> Self {
        Self { run_within: |_, body| body(), is_in_region: |_| false }
    }
}

impl Nesting {
    /// Runs `body` while the calling thread counts as inside the region of `region`.
    pub(crate) fn within_region(self, region: &RegionContext<'_>, body: impl FnOnce()) {
        let mut body = Some(body);
        (self.run_within)(region, &mut || body.take().into_iter().for_each(|body| body()));
    }
}
