//! Which region has been poisoned: one in which a bee has panicked, so that nobody waits for anybody at its barriers any more.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// The epoch of the last such region. It need not be taken back: no other region has that epoch. Whoever waits reads it again and again, and it changes hardly ever.
pub(crate) struct Poison(CachePadded<AtomicU64>);

impl Poison {
    /// None yet: no region has that epoch, and a team of its caller alone has 0.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(u64::MAX)))
    }

    pub(crate) fn set(&self, epoch: u64) {
        // Release: pairs with the Acquire in `is_in`; publishes what the panicking bee did before.
        self.0.store(epoch, Ordering::Release);
    }

    /// Whoever has seen that a bee of `region` has left, and asks afterwards, knows whether that one panicked.
    #[inline(always)]
    pub(crate) fn is_set_for(&self, epoch: u64) -> bool {
        // Acquire: pairs with the Release in `set`.
        self.0.load(Ordering::Acquire) == epoch
    }
}
