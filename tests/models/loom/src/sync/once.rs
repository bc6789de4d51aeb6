//! `std`'s `OnceLock`, with the order that it gives: who finds what another has made finds it made. Loom does not look into the
//! real one, and takes an atomic for made by nobody else's leave.

use super::atomic::AtomicBool;
use super::{Ordering, give_way};

/// What is made once, by whoever needs it first.
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_made: AtomicBool,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), is_made: AtomicBool::new(false) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        let value = self.value.get()?;
        while !self.is_made.load(Ordering::Acquire) {
            give_way();
        }
        Some(value)
    }

    /// `make` takes no step that loom sees.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let value = self.value.get_or_init(make);
        self.is_made.store(true, Ordering::Release);
        value
    }
}
