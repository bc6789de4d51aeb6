//! A shared borrow whose end the compiler cannot see.

#![allow(unsafe_code)]

pub(crate) struct SendPtr<T>(pub(crate) *const T);

impl<T> Clone for SendPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SendPtr<T> {}

// SAFETY: made of a shared borrow of what is Sync.
unsafe impl<T: Sync> Send for SendPtr<T> {}

impl<T> SendPtr<T> {
    pub(crate) fn raw(self) -> *const T {
        self.0
    }

    /// # Safety
    /// What it points to lives.
    pub(crate) unsafe fn get<'p>(self) -> &'p T {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }
}
