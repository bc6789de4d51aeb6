//! `Guard`: what a bee has borrowed, until it is dropped. The guards of `Parts` (`parts.rs`) and of `PerBee`
//! (`per_bee.rs`) are `Guard`s of a slice and of a value, to read or to write.

#![expect(unsafe_code, reason = "gives out references to what is borrowed until the guard is dropped")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::slices::borrow::{BorrowGuard, PartsGuard};

/// A `T` that a bee has borrowed, until this is dropped. It is used as a reference of the type `R`: `&T`, or `&mut T`,
/// with which it can be written to as well. `G` gives it back.
///
/// Programs name the single guards: [`PartMut`], [`PartRef`], [`PerBeeMut`] and [`PerBeeRef`]. What they
/// have in common serves for functions that take any of them:
///
/// ```
/// use hive::{Guard, Parts};
///
/// fn sum<R, G>(values: &Guard<[i32], R, G>) -> i32 {
///     values.iter().sum()
/// }
///
/// let mut x = [1, 2, 3, 4];
/// let parts = Parts::new(&mut x, 2);
/// let sums = hive::spmd_map(2, |bee| (sum(&parts.part(bee, 0)), sum(&parts.whole(bee))));
/// assert_eq!(sums, [(3, 10), (3, 10)]);
/// ```
pub struct Guard<T: ?Sized, R, G> {
    /// A pointer, and no reference: a reference that is passed to a function, in whatever, has to be valid until that
    /// returns, and `drop` gives the value back before it does.
    value: *const T,
    _guard: G,
    _reference: PhantomData<R>,
}

// SAFETY: `new` was promised that `R` is a reference to `T`. A guard can do no more with its value than that reference
// can, which may be sent, as `_guard` may.
unsafe impl<T: ?Sized, R: Send, G: Send> Send for Guard<T, R, G> {}
// SAFETY: as for `Send`. A shared guard gives out `&T`, as a shared `R` does, which may be shared, as `_guard` may.
unsafe impl<T: ?Sized, R: Sync, G: Sync> Sync for Guard<T, R, G> {}

impl<T: ?Sized, R, G> Guard<T, R, G> {
    /// # Safety
    /// - `R` is `&'p T` or `&'p mut T`, and the value lives for `'p`.
    /// - Until `guard` gives the value back, nobody else writes to it; if `R` is `&'p mut T`, nobody else has it, and
    ///   `value` may be written through.
    #[inline(always)]
    pub(crate) unsafe fn new(value: *mut T, guard: G) -> Self {
        Self { value, _guard: guard, _reference: PhantomData }
    }
}

impl<T: ?Sized, R, G> Deref for Guard<T, R, G> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: as `new` was promised, and the guard is still there.
        unsafe { &*self.value }
    }
}

impl<T: ?Sized, G> DerefMut for Guard<T, &mut T, G> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`. As `new` was promised for `&mut T`, nobody else has the value, and the pointer is one
        // to write to. `self` is borrowed mutably, so it has given out no other reference that is still in use.
        unsafe { &mut *self.value.cast_mut() }
    }
}

impl<T: ?Sized + fmt::Debug, R, G> fmt::Debug for Guard<T, R, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// One or several parts borrowed for writing, until this is dropped. See
/// [`Parts::own_mut`](crate::slices::parts::Parts::own_mut).
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
pub type PartMut<'p, T> = Guard<[T], &'p mut [T], PartsGuard<'p>>;

/// One or several parts borrowed for reading, until this is dropped. See
/// [`Parts::part`](crate::slices::parts::Parts::part).
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
pub type PartRef<'p, T> = Guard<[T], &'p [T], PartsGuard<'p>>;

/// A bee's own value, to read and write until this is dropped. See
/// [`PerBee::get`](crate::slices::per_bee::PerBee::get).
///
/// ```
/// let counts = hive::PerBee::new(2, |_| 0);
/// hive::spmd(2, |bee| {
///     let mut own: hive::PerBeeMut<'_, usize> = counts.get(bee); // once, and not for each index
///     bee.split(0..100).for_each(|i| *own += usize::from(i % 3 == 0));
/// });
/// assert_eq!(counts.into_iter().sum::<usize>(), 34);
/// ```
pub type PerBeeMut<'p, T> = Guard<T, &'p mut T, BorrowGuard<'p>>;

/// A bee's value, to read until this is dropped. See [`PerBee::of`](crate::slices::per_bee::PerBee::of) and
/// [`PerBee::iter`](crate::slices::per_bee::PerBee::iter).
///
/// ```
/// let names = hive::PerBee::new(2, |id| format!("bee {id}"));
/// hive::spmd(2, |bee| {
///     let other: hive::PerBeeRef<'_, String> = names.of(bee, 1 - bee.id());
///     assert_eq!(other.len(), 5);
/// });
/// ```
pub type PerBeeRef<'p, T> = Guard<T, &'p T, BorrowGuard<'p>>;
