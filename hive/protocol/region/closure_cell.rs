//! Where a region's part lies while its bees run it: in the signal's cache line, so that the bees get it with their start. One that does not fit stays
//! on the queen's stack, from where they fetch it; that takes as long again.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

use crate::sync::UnsafeCell;

/// What the line has left, in words: a part of this size or less, or the address of a larger one.
const WORDS: usize = 4;

type Words = [MaybeUninit<u64>; WORDS];

/// In bytes.
pub(crate) const SIZE: usize = size_of::<Words>();

pub(crate) struct ClosureCell(UnsafeCell<Words>);

impl ClosureCell {
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new([MaybeUninit::uninit(); WORDS]))
    }

    /// Lays `part` down here until the guard is dropped.
    ///
    /// # Safety
    /// Nothing else lies here. Whoever uses the part has done so when the guard is dropped, which it must be.
    #[inline(always)]
    pub(crate) unsafe fn store<'b, P>(&'b self, body: &'b mut P) -> StoredClosure<'b, P> {
        self.0.with_mut(|words| {
            if fits::<P>() {
                // SAFETY: it fits, and nothing else lies here. What has been moved is not looked at in its old place until it is moved back.
                unsafe { ptr::copy_nonoverlapping(body, words.cast(), 1) };
            } else {
                // SAFETY: an address fits, and nothing else lies here.
                unsafe { words.cast::<*const P>().write(body) };
            }
        });
        StoredClosure { cell: self, original: body }
    }

    /// Lays down a reference to the part at `part`, for a job that takes one.
    ///
    /// # Safety
    /// Nothing else lies here.
    #[inline(always)]
    pub(crate) unsafe fn store_pointer(&self, body: *const ()) {
        // SAFETY: an address fits.
        self.0.with_mut(|words| unsafe { words.cast::<*const ()>().write(body) });
    }

    /// What `store_pointer` has laid down.
    ///
    /// # Safety
    /// It has, and nothing has been laid down here since.
    #[inline(always)]
    pub(crate) unsafe fn load_pointer(&self) -> *const () {
        // SAFETY: the caller's promise.
        self.0.with(|words| unsafe { words.cast::<*const ()>().read() })
    }

    /// Calls `run` with the part that lies here.
    ///
    /// # Safety
    /// There is one, it is a `P`, and stays until this returns.
    #[inline(always)]
    pub(crate) unsafe fn with<P, R>(&self, run: impl FnOnce(&P) -> R) -> R {
        self.0.with(|words| {
            let body = if fits::<P>() {
                words.cast()
            } else {
                // SAFETY: the caller's promise: the address of one lies here.
                unsafe { words.cast::<*const P>().read() }
            };
            // SAFETY: the caller's promise: it is there, and stays so.
            run(unsafe { &*body })
        })
    }
}

const fn fits<P>() -> bool {
    size_of::<P>() <= SIZE && align_of::<P>() <= align_of::<Words>()
}

/// A part that lies in a berth, or its address.
#[must_use = "dropped at once, it is there no more"]
pub(crate) struct StoredClosure<'b, P> {
    cell: &'b ClosureCell,
    original: &'b mut P,
}

impl<P> Drop for StoredClosure<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        if fits::<P>() {
            // SAFETY: it lies there, and nobody uses it any more. It goes home as it is now: with cells or locks in it, it may have changed.
            self.cell.0.with_mut(|words| unsafe { ptr::copy_nonoverlapping(words.cast(), self.original, 1) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_fits_is_moved_in_and_back() {
        let cell = ClosureCell::new();
        let mut body = Cell::new(17);
        // SAFETY: nothing else lies there.
        let stored = unsafe { cell.store(&mut body) };
        let original = ptr::from_ref(&*stored.original);
        // SAFETY: the part is there still.
        let moved = unsafe { cell.with(|body: &Cell<u32>| body.replace(18) == 17 && !ptr::eq(body, original)) };
        drop(stored);
        assert!(moved);
        assert_eq!(body.get(), 18);
    }

    #[test]
    fn what_does_not_fit_stays_where_it_is() {
        #[repr(align(16))]
        struct Wide(#[expect(dead_code, reason = "only its alignment matters")] u8);
        assert!(fits::<[u64; WORDS]>() && fits::<u8>() && fits::<()>());
        assert!(!fits::<[u64; WORDS + 1]>() && !fits::<Wide>());
        let (cell, mut body) = (ClosureCell::new(), [1_u64; WORDS + 1]);
        let original = ptr::from_ref(&body);
        // SAFETY: as above.
        let stored = unsafe { cell.store(&mut body) };
        // SAFETY: as above.
        assert!(unsafe { cell.with(|body: &[u64; WORDS + 1]| ptr::eq(body, original)) });
        drop(stored);
    }
}
