//! What the protocol asks of the layer above it, what the calling thread is inside of; and what it keeps for that
//! layer, the owner of a team.
//!
//! The library keeps a list of the regions and tasks that a thread is inside of (`hive/region/nesting.rs`). A few steps
//! of the protocol need that list, none of them on the fast path. When a region ends by a panic or a missed barrier,
//! some of the program's own code may have to run, such as the drop of a second panic's payload. It must count as
//! inside the region, or a call that it makes of the same hive would wait for the region's end. The protocol must not
//! depend on the layer above it, so a team is given these functions as values.

use std::ptr;

use crate::protocol::region::region_context::RegionContext;

/// The address of what owns a team, for the layer above, which knows its type. The protocol only keeps it, so that the
/// owner can be found from the team: by a call inside of a region or a task, which knows no more than the team.
#[derive(Clone, Copy)]
pub(crate) struct TeamOwner(pub(crate) *const ());

impl TeamOwner {
    /// No owner, as in the models.
    pub(crate) const NONE: Self = Self(ptr::null());

    /// Whether there is no owner.
    pub(crate) fn is_none(self) -> bool {
        self.0.is_null()
    }
}

#[expect(unsafe_code, reason = "keeps an address for another layer")]
// SAFETY: the protocol never follows the pointer. Whoever does says why that is sound.
unsafe impl Send for TeamOwner {}

#[expect(unsafe_code, reason = "keeps an address for another layer")]
// SAFETY: as above.
unsafe impl Sync for TeamOwner {}

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
