//! Decides which bee of a team does what only one of them is to do: the first that asks. `region/collective/values.rs`
//! uses it. See `docs/collectives.md`, "Who is first".

use crate::protocol::region::region_context::RegionContext;
use crate::sync::Ordering;

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
        let word = &self.team.single_claim;
        // Relaxed, all three: this only decides which bee is first, and hands nothing over. What that bee does is
        // handed over by the barrier that follows.
        let last = word.load(Ordering::Relaxed);
        last != key && word.compare_exchange(last, key, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
