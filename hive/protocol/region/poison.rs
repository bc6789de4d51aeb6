//! Which region is poisoned: a bee of it has panicked or has left out a barrier, so no bee waits at its barriers any
//! more.
//!
//! `Team::poison_region` sets the poison, and then wakes the bees that are blocked at barriers. Every bee that waits in
//! a region polls it. See `docs/barrier.md`, "Panic".

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// The epoch of the last region that was poisoned. It is never cleared, because no other region has that epoch. It is
/// in a cache line of its own: waiting bees read it again and again, and it hardly ever changes.
pub(crate) struct Poison(CachePadded<AtomicU64>);

impl Poison {
    /// No region has been poisoned yet. The initial value is an epoch that no region has; 0 would not do, because teams
    /// of one have that.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(u64::MAX)))
    }

    /// Poisons the region of this epoch.
    pub(crate) fn set(&self, epoch: u64) {
        // Release: pairs with the Acquire in `is_set_for`; publishes what the panicking bee did before.
        self.0.store(epoch, Ordering::Release);
    }

    /// Whether the region of this epoch has been poisoned.
    ///
    /// If a bee sees in the barrier's word that another bee has left the region, and asks this afterwards, the answer
    /// tells whether that bee had poisoned the region before it left. So it can tell a panic from a barrier that was
    /// left out.
    #[inline(always)]
    pub(crate) fn is_set_for(&self, epoch: u64) -> bool {
        // Acquire: pairs with the Release in `set`; what the panicking bee did before is visible.
        self.0.load(Ordering::Acquire) == epoch
    }
}
