//! The free functions for loops that write to slices.

use std::ops::Range;

use crate::loops::slice_schedule::SliceSchedule;
#[cfg(doc)]
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::par_zip::MutSlices;

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
pub fn par_for_mut<T: Send, F>(data: &mut [T], schedule: impl SliceSchedule, body: F)
where
    F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync,
{
    let found;
    current_hive!(found).par_for_mut(data, schedule, body);
}

/// Runs a loop that writes to the rows of a slice, on the [current](crate#which-hive) hive. See [`Hive::par_rows_mut`].
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
pub fn par_rows_mut<T: Send, F>(data: &mut [T], width: usize, schedule: impl SliceSchedule, body: F)
where
    F: Fn(Range<usize>, &mut [T], &Bee<'_>) + Sync,
{
    let found;
    current_hive!(found).par_rows_mut(data, width, schedule, body);
}

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
pub fn par_zip_mut<S: MutSlices, F>(slices: S, schedule: impl SliceSchedule, body: F)
where
    F: Fn(Range<usize>, S::Part, &Bee<'_>) + Sync,
{
    let found;
    current_hive!(found).par_zip_mut(slices, schedule, body);
}
