//! The free functions that begin regions.

use crate::pool::error::Error;
#[cfg(doc)]
use crate::pool::handle::Hive;
use crate::region::bee::Bee;

/// Runs a region on the [current](crate#which-hive) hive: `body` once on each of `bees` bees, including the caller. See
/// [`Hive::spmd`].
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
pub fn spmd<F: Fn(&Bee<'_>) + Sync>(bees: usize, body: F) {
    let found;
    current_hive!(found).spmd(bees, body);
}

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
pub fn try_spmd<F: Fn(&Bee<'_>) + Sync>(bees: usize, body: F) -> Result<(), Error> {
    let found;
    current_hive!(found).try_spmd(bees, body)
}

/// Runs a region on the [current](crate#which-hive) hive and returns what `body` returned on each bee, in the order of
/// the bees' numbers. See [`Hive::spmd_map`].
///
/// ```
/// assert_eq!(hive::spmd_map(3, |bee| bee.id() * 10), [0, 10, 20]);
/// ```
///
/// # Panics
/// As [`Hive::spmd`].
#[track_caller]
#[doc(alias("parallel", "omp parallel", "parallel region", "fork-join", "broadcast"))]
pub fn spmd_map<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(bees: usize, body: F) -> Vec<R> {
    let found;
    current_hive!(found).spmd_map(bees, body)
}

/// Runs a region on the [current](crate#which-hive) hive and combines what `body` returned on the bees, in the order of
/// their numbers. See [`Hive::spmd_reduce`].
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
where
    R: Send,
    F: Fn(&Bee<'_>) -> R + Sync,
    C: FnMut(R, R) -> R,
{
    let found;
    current_hive!(found).spmd_reduce(bees, body, combine)
}

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
pub fn spmd_all<F: Fn(&Bee<'_>) + Sync>(body: F) {
    let found;
    current_hive!(found).spmd_all(body);
}

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
pub fn spmd_all_map<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(body: F) -> Vec<R> {
    let found;
    current_hive!(found).spmd_all_map(body)
}
