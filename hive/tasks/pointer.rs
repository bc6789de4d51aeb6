//! A shared borrow whose end the compiler cannot see.

#![allow(unsafe_code)]

pub(super) struct Pointer<T>(pub(super) *const T);

// SAFETY: made of a shared borrow of what is Sync.
unsafe impl<T: Sync> Send for Pointer<T> {}

impl<T> Pointer<T> {
    /// # Safety
    /// What it points to lives.
    pub(super) unsafe fn get<'p>(self) -> &'p T {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }
}
