//! Plain data that threads of a model share. loom checks every access and fails the model when two accesses, one of
//! them a write, are not ordered by the protocol.

use loom::cell::UnsafeCell;

/// A number that is not atomic. Two threads may use it only in an order that the protocol establishes.
pub(crate) struct Datum(UnsafeCell<u32>);

#[expect(unsafe_code, reason = "shared so that loom can tell whether the protocol orders the accesses")]
// SAFETY: loom ends the run when two accesses are not ordered and one of them is a write.
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
        // SAFETY: loom checks that no thread writes now.
        self.0.with(|value| unsafe { *value })
    }

    #[expect(unsafe_code, reason = "writes through loom's pointer")]
    pub(crate) fn set(&self, new: u32) {
        // SAFETY: loom checks that no other thread reads or writes now.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

/// Makes `count` numbers, all zero.
pub(crate) fn data(count: u32) -> Vec<Datum> {
    (0..count).map(|_| Datum::new(0)).collect()
}
