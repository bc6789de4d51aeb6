//! What a bee has of a `Parts`: a part to write to or to read, or the whole slice to read, until it is dropped; and the
//! borrow states that such a guard gives back. `Parts` (`parts.rs`) makes them.
//!
//! The guards have pointers to the elements, and no references: a reference that is passed to a function, in whatever,
//! has to be valid until that returns, and `drop` gives the elements back before it does.

#![expect(unsafe_code, reason = "gives out references to what is borrowed until the guard is dropped")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::slices::borrow::BorrowState;

/// The borrow states of all parts. If there are few, each has cache lines of its own.
pub(crate) struct BorrowStates {
    states: Box<[BorrowState]>,
    /// The distance between the states of two neighbouring parts.
    stride: usize,
}

impl BorrowStates {
    /// A distance of 128 bytes: a cache line and the one that the processor fetches with it.
    const PADDED_STRIDE: usize = 128 / size_of::<BorrowState>();
    /// With more parts than this, the states lie side by side, to save memory.
    const MAX_PADDED: usize = 1024;

    pub(crate) fn new(parts: usize) -> Self {
        let stride = if parts <= Self::MAX_PADDED { Self::PADDED_STRIDE } else { 1 };
        Self { states: (0..parts * stride).map(|_| BorrowState::default()).collect(), stride }
    }

    /// The borrow state of part `part`.
    #[inline(always)]
    pub(crate) fn of(&self, part: usize) -> &BorrowState {
        &self.states[part * self.stride]
    }
}

/// Gives a part back when it is dropped. None: nothing was borrowed.
pub(crate) struct BorrowGuard<'p>(pub(crate) Option<&'p BorrowState>);

impl Drop for BorrowGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(state) = self.0 {
            state.release();
        }
    }
}

/// Gives back the first `parts` parts when it is dropped.
pub(crate) struct WholeGuard<'p> {
    pub(crate) borrows: &'p BorrowStates,
    pub(crate) parts: usize,
}

impl Drop for WholeGuard<'_> {
    fn drop(&mut self) {
        (0..self.parts).for_each(|part| self.borrows.of(part).release());
    }
}

/// All parts borrowed for reading, until this is dropped. See [`Parts::whole`](crate::slices::parts::Parts::whole).
///
/// ```
/// let mut x = vec![1, 2, 3, 4];
/// let parts = hive::Parts::new(&mut x, 2);
/// let firsts = hive::spmd_map(2, |bee| {
///     let all: hive::WholeRef<'_, i32> = parts.whole(bee);
///     all[bee.id()] // it is a slice
/// });
/// assert_eq!(firsts, [1, 2]);
/// ```
pub struct WholeRef<'p, T> {
    elements: *const [T],
    _guard: WholeGuard<'p>,
    _borrow: PhantomData<&'p [T]>,
}

// SAFETY: as the reference in `_borrow` may be sent.
unsafe impl<'p, T> Send for WholeRef<'p, T> where &'p [T]: Send {}
// SAFETY: as the reference in `_borrow` may be shared.
unsafe impl<'p, T> Sync for WholeRef<'p, T> where &'p [T]: Sync {}

impl<'p, T> WholeRef<'p, T> {
    /// # Safety
    /// The elements live for `'p`, and until `guard` gives them back nobody else writes to them.
    #[inline(always)]
    pub(crate) unsafe fn new(elements: *mut [T], guard: WholeGuard<'p>) -> Self {
        Self { elements, _guard: guard, _borrow: PhantomData }
    }
}

impl<T> Deref for WholeRef<'_, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: as `new` was promised, and the guard is still there.
        unsafe { &*self.elements }
    }
}

impl<T: fmt::Debug> fmt::Debug for WholeRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A part borrowed for writing, until this is dropped. See [`Parts::own_mut`](crate::slices::parts::Parts::own_mut).
///
/// ```
/// let mut x = vec![3.0, 1.0, 2.0, 6.0, 5.0, 4.0];
/// let parts = hive::Parts::new(&mut x, 2);
/// hive::spmd(2, |bee| {
///     let mut own: hive::PartMut<'_, f64> = parts.own_mut(bee);
///     own.sort_unstable_by(f64::total_cmp); // it is a slice
/// });
/// drop(parts);
/// assert_eq!(x, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// ```
pub struct PartMut<'p, T> {
    elements: *mut [T],
    _guard: BorrowGuard<'p>,
    _borrow: PhantomData<&'p mut [T]>,
}

// SAFETY: as the reference in `_borrow` may be sent.
unsafe impl<'p, T> Send for PartMut<'p, T> where &'p mut [T]: Send {}
// SAFETY: as the reference in `_borrow` may be shared.
unsafe impl<'p, T> Sync for PartMut<'p, T> where &'p mut [T]: Sync {}

impl<'p, T> PartMut<'p, T> {
    /// # Safety
    /// The elements live for `'p`, and until `guard` gives them back nobody else has them.
    #[inline(always)]
    pub(crate) unsafe fn new(elements: *mut [T], guard: BorrowGuard<'p>) -> Self {
        Self { elements, _guard: guard, _borrow: PhantomData }
    }
}

/// A part borrowed for reading, until this is dropped. See [`Parts::part`](crate::slices::parts::Parts::part).
///
/// ```
/// let mut x = vec![1.0, 2.0, 3.0, 4.0];
/// let parts = hive::Parts::new(&mut x, 2);
/// let sums = hive::spmd_map(2, |bee| {
///     let other: hive::PartRef<'_, f64> = parts.part(bee, 1 - bee.id());
///     other.iter().sum::<f64>() // it is a slice
/// });
/// assert_eq!(sums, [7.0, 3.0]);
/// ```
pub struct PartRef<'p, T> {
    elements: *const [T],
    _guard: BorrowGuard<'p>,
    _borrow: PhantomData<&'p [T]>,
}

// SAFETY: as the reference in `_borrow` may be sent.
unsafe impl<'p, T> Send for PartRef<'p, T> where &'p [T]: Send {}
// SAFETY: as the reference in `_borrow` may be shared.
unsafe impl<'p, T> Sync for PartRef<'p, T> where &'p [T]: Sync {}

impl<'p, T> PartRef<'p, T> {
    /// # Safety
    /// The elements live for `'p`, and until `guard` gives them back nobody else writes to them.
    #[inline(always)]
    pub(crate) unsafe fn new(elements: *mut [T], guard: BorrowGuard<'p>) -> Self {
        Self { elements, _guard: guard, _borrow: PhantomData }
    }
}

impl<T> Deref for PartMut<'_, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: as `new` was promised, and the guard is still there.
        unsafe { &*self.elements }
    }
}

impl<T> DerefMut for PartMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and nobody else has the elements.
        unsafe { &mut *self.elements }
    }
}

impl<T> Deref for PartRef<'_, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: as `new` was promised, and the guard is still there.
        unsafe { &*self.elements }
    }
}

impl<T: fmt::Debug> fmt::Debug for PartMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for PartRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
