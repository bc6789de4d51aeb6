//! The primitives that the protocols in `crew/` are written in, and nothing else is.
//!
//! The models under `tests/models/` include the very files of `crew/` and supply this module from loom and shuttle,
//! so whatever `crew/` needs from outside comes through here.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Condvar, Mutex};

pub(crate) use crate::semaphore::Semaphore;
pub(crate) use crate::wait::{Hold, WaitPolicy};

/// `std`'s `UnsafeCell` behind loom's interface, which tells the checker when an access begins and ends.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}
