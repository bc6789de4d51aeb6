//! A pointer to something that is borrowed for a time that the compiler cannot see, so that a task can carry it to
//! another thread. `scope.rs` and `handle.rs` use it, and see to it that the borrowed value lives long enough.

#![allow(unsafe_code)]

/// A pointer made from a shared reference.
pub(crate) struct SendPtr<T>(pub(crate) *const T);

impl<T> Clone for SendPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SendPtr<T> {}

// SAFETY: it stands for a shared reference to a `T`, and `T` is `Sync`.
unsafe impl<T: Sync> Send for SendPtr<T> {}

impl<T> SendPtr<T> {
    pub(crate) fn raw(self) -> *const T {
        self.0
    }

    /// The value that it was borrowed from. The lifetime `'p` is the caller's choice.
    ///
    /// # Safety
    /// The value lives for `'p`, and nothing borrows it mutably in that time.
    pub(crate) unsafe fn get<'p>(self) -> &'p T {
        // SAFETY: the caller promises that the value lives and is not borrowed mutably.
        unsafe { &*self.0 }
    }
}
