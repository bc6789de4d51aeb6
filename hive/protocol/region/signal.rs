//! How far each bee of a region has come, by a count of its own that others wait for: `Bee::signal` and
//! `Bee::wait_for`.
//!
//! A bee alone writes its count, and others read it. In each region the counts begin at 0, but nobody sets them back:
//! beside its count a bee keeps the key of the region that the count belongs to, and a count of another region is 0.
//! The steps and the proof are in `docs/collectives.md`, "Signals".

use crate::sync::{AtomicU64, Ordering};

/// The count of one bee. Written by that bee only; read by those that wait for it.
#[derive(Default)]
pub(crate) struct Signal {
    /// The key of the region that `count` belongs to. No region of several bees has the key 0.
    region: AtomicU64,
    count: AtomicU64,
}

impl Signal {
    /// Sets the calling bee's count in the region with this key.
    #[inline]
    pub(crate) fn set(&self, region: u64, count: u64) {
        // Relaxed: the bee has stored it itself, or the bee that had its number in a region before; a start lies
        // between.
        if self.region.load(Ordering::Relaxed) == region {
            // Release: pairs with the Acquire load of `count` in `count_in`. What the bee has done is visible to
            // whoever reads this count or a later one.
            self.count.store(count, Ordering::Release);
        } else {
            // In this order: whoever finds the new key must not find a count of a region before.
            // Relaxed: published by the store of the key.
            self.count.store(count, Ordering::Relaxed);
            // Release: pairs with the Acquire load of `region` in `count_in`.
            self.region.store(region, Ordering::Release);
        }
    }

    /// The count in the region with this key.
    #[inline]
    pub(crate) fn count_in(&self, region: u64) -> u64 {
        // Acquire: pairs with the Release store of `region` in `set`. The count that is read below is then of this
        // region.
        if self.region.load(Ordering::Acquire) != region {
            return 0;
        }
        // Acquire: pairs with the Release store of `count` in `set`.
        self.count.load(Ordering::Acquire)
    }
}
