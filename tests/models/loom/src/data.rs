//! Plain data that the bees of a region share, every access of which loom checks for a race.

use loom::cell::UnsafeCell;

/// A number that two threads may use only in an order which the protocol gives them.
pub(crate) struct Datum(UnsafeCell<u32>);

#[expect(unsafe_code, reason = "shared so that loom can tell whether the protocol orders the accesses")]
// SAFETY: loom ends the run when two accesses, one of them a write, are not ordered.
unsafe impl Sync for Datum {}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: a number may be dropped by any thread.
unsafe impl Send for Datum {}

impl Datum {
    pub(crate) fn new(value: u32) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[expect(unsafe_code, reason = "reads through loom's pointer")]
    pub(crate) fn get(&self) -> u32 {
        // SAFETY: loom checks that nobody writes now.
        self.0.with(|value| unsafe { *value })
    }

    #[expect(unsafe_code, reason = "writes through loom's pointer")]
    pub(crate) fn set(&self, new: u32) {
        // SAFETY: loom checks that nobody else reads or writes now.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

/// `count` of them, all zero.
pub(crate) fn data(count: u32) -> Vec<Datum> {
    (0..count).map(|_| Datum::new(0)).collect()
}
