//! The closure cell: the place in the start line where a region's body, the caller's closure, is while the bees run it.
//! So the workers get the closure together with the start word, by one transfer of the line.
//!
//! A closure that is larger has the lines after that as well. The workers keep copies of these, and they are written
//! only where the closure differs from the last one of this size: programs mostly run the same closures again and
//! again. A closure that does not fit there either stays on the queen's stack, and the cell holds its address. Then the
//! workers have to fetch it from there. `queen.rs` stores the closure before it publishes the region, `BodyFn` runs it,
//! and the queen moves it back when all bees have exited. See `docs/start.md`.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

use crate::sync::{UnsafeCell, copy_changed_words};

/// The size of the part of the cell that is in the start line, in words of 8 bytes: what the line has left beside the
/// word, the barrier and the order.
const NEAR_WORDS: usize = 4;

/// The size of the whole cell: sixteen words that the program's closure captures, and what a loop puts around it.
const WORDS: usize = NEAR_WORDS + 24;

type Words = [MaybeUninit<u64>; WORDS];

/// How many bytes of the cell are in the start line.
pub(crate) const NEAR_SIZE: usize = NEAR_WORDS * size_of::<u64>();

/// Holds nothing, or a body (a value of some type `P` that fits), or the address of one. Which it is, and the type, is
/// known only to the functions that access it: `P` must be the same in all of them.
pub(crate) struct ClosureCell(UnsafeCell<Words>);

impl ClosureCell {
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new([MaybeUninit::zeroed(); WORDS]))
    }

    /// Stores `body` in the cell until the guard is dropped: the body itself if it fits, and its address otherwise.
    ///
    /// # Safety
    /// - The cell holds nothing else that is still used, and nothing else is stored in it before the guard is dropped.
    /// - The guard is dropped, not leaked, because only its drop moves the body back.
    /// - When the guard is dropped, no thread uses the body in the cell any more.
    #[inline(always)]
    pub(crate) unsafe fn store<'b, P>(&'b self, body: &'b mut P) -> StoredClosure<'b, P> {
        self.0.with_mut(|words| {
            if fits_near::<P>() {
                // SAFETY: the body fits, and the cell is free, by the caller's promise. The guard holds the mutable
                // borrow of `body`, so the original is not accessed until the guard's drop moves the body back.
                unsafe { ptr::copy_nonoverlapping(body, words.cast(), 1) };
            } else if fits::<P>() {
                let (body, words) = (ptr::from_ref(body).cast::<MaybeUninit<u64>>(), words.cast::<MaybeUninit<u64>>());
                // SAFETY: as above. The size of the body is a multiple of a word's, and larger than this.
                unsafe { ptr::copy_nonoverlapping(body, words, NEAR_WORDS) };
                let (body, words) = (body.wrapping_add(NEAR_WORDS), words.wrapping_add(NEAR_WORDS));
                // SAFETY: the same for the rest of the body.
                unsafe { copy_changed_words(body, words, size_of::<P>() / WORD - NEAR_WORDS) };
            } else {
                // SAFETY: an address fits, and the cell is free, by the caller's promise.
                unsafe { words.cast::<*const P>().write(body) };
            }
        });
        StoredClosure { cell: self, original: body }
    }

    /// Stores the address of a body, for regions of several groups, in which each group's cell points to the queen's
    /// closure. The bees run it with the `BodyFn` for a reference to the body.
    ///
    /// # Safety
    /// The cell holds nothing else that is still used.
    #[inline(always)]
    pub(crate) unsafe fn store_pointer(&self, body: *const ()) {
        // SAFETY: an address fits, and the cell is free, by the caller's promise.
        self.0.with_mut(|words| unsafe { words.cast::<*const ()>().write(body) });
    }

    /// The address that `store_pointer` has stored.
    ///
    /// # Safety
    /// `store_pointer` has been called, and nothing has been stored in the cell since.
    #[inline(always)]
    pub(crate) unsafe fn load_pointer(&self) -> *const () {
        // SAFETY: by the caller's promise, the cell holds an address.
        self.0.with(|words| unsafe { words.cast::<*const ()>().read() })
    }

    /// Calls `run` with the body that is in the cell, or whose address is.
    ///
    /// # Safety
    /// The cell holds a body of type `P`, or the address of one if it does not fit, and the body stays there until this
    /// call returns. (After `store_pointer`, `P` is a reference.)
    #[inline(always)]
    pub(crate) unsafe fn with<P, R>(&self, run: impl FnOnce(&P) -> R) -> R {
        self.0.with(|words| {
            let body = if fits::<P>() {
                words.cast()
            } else {
                // SAFETY: by the caller's promise, the cell holds the address of a body of this type.
                unsafe { words.cast::<*const P>().read() }
            };
            // SAFETY: by the caller's promise, the body is there until this call returns.
            run(unsafe { &*body })
        })
    }
}

const WORD: usize = size_of::<u64>();

/// Whether a `P` can be in the cell.
const fn fits<P>() -> bool {
    fits_near::<P>() || size_of::<P>() <= size_of::<Words>() && align_of::<P>() == WORD
}

/// Whether it can be in the part of it that is in the start line.
const fn fits_near<P>() -> bool {
    size_of::<P>() <= NEAR_SIZE && align_of::<P>() <= WORD
}

/// The guard of a body that is in a closure cell, or whose address is. Its drop moves the body back to its original
/// place.
#[must_use = "dropped at once, it is there no more"]
pub(crate) struct StoredClosure<'b, P> {
    cell: &'b ClosureCell,
    /// The place that the body came from. While the body is in the cell, the bytes here must not be used.
    original: &'b mut P,
}

impl<P> Drop for StoredClosure<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        if fits::<P>() {
            // The body is copied back, because it may have changed in the cell: it may contain cells or locks.
            // SAFETY: the cell holds the body, and no thread uses it any more, as the caller of `store` has promised.
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
        // SAFETY: the cell is new, and the guard is dropped below, after the only use.
        let stored = unsafe { cell.store(&mut body) };
        let original = ptr::from_ref(&*stored.original);
        // SAFETY: the guard still lives, so the body is in the cell.
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
        // SAFETY: the cell is new, and the guard is dropped below, after the only use.
        let stored = unsafe { cell.store(&mut body) };
        // SAFETY: the guard still lives, so the cell holds the body's address.
        assert!(unsafe { cell.with(|body: &[u64; WORDS + 1]| ptr::eq(body, original)) });
        drop(stored);
    }
}
