//! How many bees there are: whoever looks for a bee goes by this, and finds none for which the system has made no
//! thread.

use crate::sync::{AtomicU32, Ordering};

/// The bees that have a thread are those from 1 to this number. It never falls. A slot may be there without a thread:
/// it is made before.
pub(crate) struct Hired(AtomicU32);

impl Hired {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub(crate) fn count(&self) -> u32 {
        // Acquire: pairs with the Release in `count_in`; who finds a bee by its number finds its slot.
        self.0.load(Ordering::Acquire)
    }

    /// Bee `id` has a thread. Whoever has made it says so, under the roster's lock, before the next is hired; and so
    /// does the bee, before it does anything that others might have to find. One of them is first.
    pub(crate) fn count_in(&self, id: u32) {
        // A bee may be late, and others hired meanwhile.
        let raised = |now: u32| (now < id).then_some(id);
        // Release: pairs with the Acquire in `count`; publishes the bee's slot. All changes are read-modify-writes, so
        // who reads a later one has it too. Relaxed where it has been counted: nothing is handed on.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bee_counted_late_lowers_nothing() {
        let hired = Hired::new();
        assert_eq!(hired.count(), 0);
        hired.count_in(1);
        hired.count_in(2);
        hired.count_in(1);
        hired.count_in(0);
        assert_eq!(hired.count(), 2);
    }
}
