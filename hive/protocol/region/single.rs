//! Which bee does what only one of the team shall do: the first that comes.

use crossbeam_utils::CachePadded;

use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU64, Ordering};

/// The key of what was given away last.
pub(crate) struct SingleClaim(CachePadded<AtomicU64>);

impl SingleClaim {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }
}

impl RegionContext<'_> {
    /// Whether this bee is the first of its team to ask, since the barrier that it has passed last.
    #[inline]
    pub(crate) fn claim_single(&self) -> bool {
        if self.bees() == 1 {
            return true;
        }
        // All bees ask between the same two barriers, so all come with the same key, and with another one than the time before.
        let key = self.phase_key();
        let word = &self.team().single_claim.0;
        // Relaxed: decides who is first and hands nothing over; the barrier at the end does.
        let last = word.load(Ordering::Relaxed);
        last != key && word.compare_exchange(last, key, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
