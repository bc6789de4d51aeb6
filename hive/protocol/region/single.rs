//! Decides which bee of a team does what only one of them is to do: the first that asks. `region/collective/values.rs`
//! uses it. See `docs/collectives.md`, "Who is first".

use crossbeam_utils::CachePadded;

use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU64, Ordering};

/// The key of the phase (`RegionContext::phase_key`) in which a bee was chosen last; 0 at first. The bees that ask try
/// to swap in the key of their own phase, and the one that succeeds is chosen.
#[derive(Default)]
pub(crate) struct SingleClaim(CachePadded<AtomicU64>);

impl RegionContext<'_> {
    /// Claims for this bee what only one bee of the team is to do in this phase. Returns whether the bee gets it: it
    /// does if it is the first of its team to ask since the last barrier.
    #[inline]
    pub(crate) fn claim_single(&self) -> bool {
        if self.bees == 1 {
            return true;
        }
        // All bees of the team ask in the same phase, so all have the same key, and it differs from the key of every
        // phase before. No bee can still be asking in an earlier phase, because a barrier is between any two.
        let key = self.phase_key();
        let word = &self.team.single_claim.0;
        // Relaxed, all three: this only decides which bee is first, and hands nothing over. What that bee does is
        // handed over by the barrier that follows.
        let last = word.load(Ordering::Relaxed);
        last != key && word.compare_exchange(last, key, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
