//! The free functions that begin regions, and those for loops that write to slices.

use std::ops::Range;

use crate::loops::slice_schedule::SliceSchedule;
use crate::pool::error::Error;
#[cfg(doc)]
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::par_mut::MutSlices;

of_current_hive! {
    /// Runs a region on the [current](crate#which-hive) hive: `body` once on each of `bees` bees, including the caller.
    /// See [`Hive::spmd`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let sum = AtomicUsize::new(0);
    /// hive::spmd(4, |bee| {
    ///     let part: usize = bee.split(0..1000).sum();
    ///     sum.fetch_add(part, Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spmd`]. If `bees` is 0 or above the limit, the message names [`try_spmd`].
    #[inline]
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "parallel region", "fork-join", "broadcast"))]
    pub fn spmd<F>(bees: usize, body: F) where [F: Fn(&Bee<'_>) + Sync];

    /// Runs a region on the [current](crate#which-hive) hive, or returns an error if it cannot start. See
    /// [`Hive::try_spmd`].
    ///
    /// ```
    /// assert!(hive::try_spmd(0, |_| ()).is_err());
    /// ```
    ///
    /// # Errors
    /// As [`Hive::try_spmd`].
    #[inline]
    pub fn try_spmd<F>(bees: usize, body: F) -> Result<(), Error> where [F: Fn(&Bee<'_>) + Sync];

    /// Runs a region on the [current](crate#which-hive) hive and returns what `body` returned on each bee, in the order
    /// of the bees' numbers. See [`Hive::spmd_map`].
    ///
    /// ```
    /// assert_eq!(hive::spmd_map(3, |bee| bee.id() * 10), [0, 10, 20]);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spmd`].
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "parallel region", "fork-join", "broadcast"))]
    pub fn spmd_map<R, F>(bees: usize, body: F) -> Vec<R> where [R: Send, F: Fn(&Bee<'_>) -> R + Sync];

    /// Runs a region on the [current](crate#which-hive) hive and combines what `body` returned on the bees, in the
    /// order of their numbers. See [`Hive::spmd_reduce`].
    ///
    /// ```
    /// assert_eq!(hive::spmd_reduce(3, |bee| bee.id() * 10, |a, b| a + b), 30);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spmd_reduce`].
    #[track_caller]
    #[doc(alias("reduction", "omp reduction", "reduce"))]
    pub fn spmd_reduce<R, F, C>(bees: usize, body: F, combine: C) -> R
    where [R: Send, F: Fn(&Bee<'_>) -> R + Sync, C: FnMut(R, R) -> R];

    /// Runs a region of all bees that the [current](crate#which-hive) hive has now. See [`Hive::spmd_all`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let sum = AtomicUsize::new(0);
    /// hive::spmd_all(|bee| _ = sum.fetch_add(bee.split(0..1000).sum(), Ordering::Relaxed));
    /// assert_eq!(sum.into_inner(), 499_500);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spmd_all`].
    #[inline]
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "parallel region", "broadcast"))]
    pub fn spmd_all<F>(body: F) where [F: Fn(&Bee<'_>) + Sync];

    /// Runs a region of all bees that the [current](crate#which-hive) hive has now, and returns what `body` returned on
    /// each. See [`Hive::spmd_all_map`].
    ///
    /// ```
    /// let evens = hive::spmd_all_map(|bee| bee.split(0..1000).filter(|i| i % 2 == 0).collect::<Vec<_>>());
    /// assert_eq!(evens.concat().len(), 500);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spmd_all`].
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "parallel region", "broadcast"))]
    pub fn spmd_all_map<R, F>(body: F) -> Vec<R> where [R: Send, F: Fn(&Bee<'_>) -> R + Sync];

    /// Runs a loop that writes to the elements of a slice, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_for_mut`].
    ///
    /// ```
    /// let x = vec![2.0; 1000];
    /// let mut y = vec![1.0; 1000];
    /// hive::par_for_mut(&mut y, hive::Schedule::Static, |range, y, _| {
    ///     y.iter_mut().zip(&x[range]).for_each(|(y, x)| *y += 0.5 * x);
    /// });
    /// assert_eq!(y, [2.0; 1000]);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_for_mut`].
    #[inline]
    #[track_caller]
    #[doc(alias("par_iter_mut", "parallel for", "par_chunks_mut"))]
    pub fn par_for_mut<T, F>(data: &mut [T], schedule: impl SliceSchedule, body: F)
    where [T: Send, F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync];

    /// Runs a loop that writes to the rows of a slice, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_rows_mut`].
    ///
    /// ```
    /// // Makes each row of a matrix sum up to one.
    /// let mut matrix = vec![2.0; 50 * 40];
    /// hive::par_rows_mut(&mut matrix, 40, hive::Schedule::Static, |_, rows, _| {
    ///     for row in rows.chunks_exact_mut(40) {
    ///         let sum: f64 = row.iter().sum();
    ///         row.iter_mut().for_each(|x| *x /= sum);
    ///     }
    /// });
    /// assert_eq!(matrix, [0.025; 50 * 40]);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_rows_mut`].
    #[inline]
    #[track_caller]
    #[doc(alias("par_chunks_mut", "par_chunks_exact_mut"))]
    pub fn par_rows_mut<T, F>(data: &mut [T], width: usize, schedule: impl SliceSchedule, body: F)
    where [T: Send, F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync];

    /// Runs a loop that writes to several slices at once, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_zip_mut`].
    ///
    /// ```
    /// let (mut x, mut y) = (vec![3.0; 1000], vec![4.0; 1000]);
    /// hive::par_zip_mut((&mut x, &mut y), hive::Schedule::Static, |_, (x, y), _| {
    ///     for (x, y) in x.iter_mut().zip(y) {
    ///         let length = f64::hypot(*x, *y);
    ///         (*x, *y) = (*x / length, *y / length);
    ///     }
    /// });
    /// assert_eq!((x[7], y[7]), (0.6, 0.8));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_zip_mut`].
    #[inline]
    #[track_caller]
    #[doc(alias("zip", "par_iter_mut", "izip", "multizip"))]
    pub fn par_zip_mut<S, F>(slices: S, schedule: impl SliceSchedule, body: F)
    where [S: MutSlices, F: Fn(Range<usize>, S::Part, &Bee<'_>) + Sync];
}
