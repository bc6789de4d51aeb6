//! A `OnceLock` for the models: the standard library's, with the ordering that it guarantees made visible to loom. A
//! thread that finds the value also sees all writes that were made to build it. And one for slots, without that
//! ordering.
//!
//! loom cannot see into the standard library's lock, so an atomic flag that loom does see is stored after the value and
//! loaded before it is used.

use super::atomic::AtomicBool;
use super::{Ordering, UnsafeCell, give_way};

/// A value that is made once, by the first thread that needs it.
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    /// Stored after the value is made.
    is_made: AtomicBool,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), is_made: AtomicBool::new(false) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        let value = self.value.get()?;
        // Acquire: pairs with the Release in `get_or_init`, so that the value is seen as it was made. The value may be
        // there a moment before the flag.
        while !self.is_made.load(Ordering::Acquire) {
            give_way();
        }
        Some(value)
    }

    /// Returns the value and makes it first if there is none. `make` takes no step that loom sees.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let value = self.value.get_or_init(make);
        // Release: pairs with the Acquire in `get`.
        self.is_made.store(true, Ordering::Release);
        value
    }
}

/// The lock that a bee's slot is in. It gives no order that loom sees: its users have learned of the bee by other
/// means, and loom reports a use that is not ordered after the making of the slot.
pub(crate) struct SlotOnce<T> {
    value: std::sync::OnceLock<T>,
    /// Holds no data. It is written when the slot is made and read when the slot is used.
    probe: UnsafeCell<()>,
}

// SAFETY: the value is in a `OnceLock`. The only other field is an `UnsafeCell` of the unit type: it holds no data that
// could be raced for, and nobody keeps a reference to it.
#[expect(unsafe_code, reason = "a probe without data")]
unsafe impl<T: Send + Sync> Sync for SlotOnce<T> {}

impl<T> SlotOnce<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), probe: UnsafeCell::new(()) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.probe.with(|_| ());
        self.value.get()
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.value.get_or_init(|| {
            self.probe.with_mut(|_| ());
            make()
        })
    }
}
