//! What the protocol asks of the layer above it: what the calling thread is inside of.
//!
//! The library keeps a list of the regions and tasks that a thread is inside of (`hive/region/nesting.rs`). A few steps
//! of the protocol need that list, none of them on the fast path. When a region ends by a panic or a missed barrier,
//! some of the program's own code may have to run, such as the drop of a second panic's payload. It must count as
//! inside the region, or a call that it makes of the same hive would wait for the region's end. The protocol must not
//! depend on the layer above it, so a team is given these functions as values.

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
    /// Runs `body` while the calling thread counts as inside the region of `region`: in the library by the function
    /// `within_region` of `hive/region/nesting.rs`.
    pub(crate) fn within_region(self, region: &RegionContext<'_>, body: impl FnOnce()) {
        let mut body = Some(body);
        (self.run_within)(region, &mut || {
            if let Some(body) = body.take() {
                body();
            }
        });
    }
}
