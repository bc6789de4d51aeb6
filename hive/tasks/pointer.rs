//! A shared borrow whose end the compiler cannot see.

#![allow(unsafe_code)]

pub(super) struct Pointer<T>(pub(super) *const T);

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

// SAFETY: made of a shared borrow of what is Sync.
unsafe impl<T: Sync> Send for Pointer<T> {}

impl<T> Pointer<T> {
    pub(super) fn raw(self) -> *const T {
        self.0
    }

    /// # Safety
    /// What it points to lives.
    pub(super) unsafe fn get<'p>(self) -> &'p T {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }
}
