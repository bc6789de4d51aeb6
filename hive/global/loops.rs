//! The free functions for loops with results, over items, over tiles, and that end early.

use std::iter::Sum;
use std::ops::{Mul, Range};

use crate::loops::shared_loop::IntoLoop;
use crate::loops::slice_schedule::SliceSchedule;
use crate::loops::stop::Stop;
#[cfg(doc)]
use crate::pool::handle::Hive;
use crate::region::bee::Bee;
use crate::slices::tiles_mut::TileMut;

of_current_hive! {
    /// A vector of what `map` returns for each index of a loop, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_map`].
    ///
    /// ```
    /// let roots = hive::par_map(0..100, |i| (i as f64).sqrt());
    /// assert_eq!(roots[81], 9.0);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_map`].
    #[track_caller]
    #[doc(alias("collect", "par_iter", "map"))]
    pub fn par_map<R>(work: impl IntoLoop, map: impl Fn(usize) -> R + Sync) -> Vec<R> where [R: Send];

    /// Calls `body` once for each item of an iterator, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_items`].
    ///
    /// ```
    /// let mut columns = vec![vec![1.0; 10]; 4];
    /// hive::par_items(columns.iter_mut().step_by(2), hive::Schedule::Static, |column, _bee| column.fill(0.0));
    /// assert_eq!((columns[1][0], columns[2][0]), (1.0, 0.0));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_items`].
    #[track_caller]
    #[doc(alias("into_par_iter", "par_bridge", "axis_chunks_iter_mut"))]
    pub fn par_items<I, F>(items: I, schedule: impl SliceSchedule, body: F)
    where [I: IntoIterator<Item: Send>, F: Fn(I::Item, &Bee<'_>) + Sync];

    /// Runs `body` once for each tile of a matrix, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_tiles_mut`].
    ///
    /// ```
    /// let mut matrix = vec![0; 100 * 60];
    /// hive::par_tiles_mut(&mut matrix, 60, [16, 16], hive::Schedule::Dynamic(1), |mut tile, _| {
    ///     let (top, left) = (tile.rows().start, tile.columns().start);
    ///     tile.rows_mut().for_each(|row| row.fill(top + left));
    /// });
    /// assert_eq!(matrix[99 * 60 + 59], 96 + 48);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_tiles_mut`].
    #[track_caller]
    #[doc(alias("collapse", "cache blocking"))]
    pub fn par_tiles_mut<T, F>(data: &mut [T], width: usize, tile: [usize; 2], schedule: impl SliceSchedule, body: F)
    where [T: Send, F: Fn(TileMut<'_, T>, &Bee<'_>) + Sync];

    /// Runs a loop until it has run all indices or is stopped, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_for_until`].
    ///
    /// ```
    /// let stop = hive::Stop::after(std::time::Duration::from_secs(3600));
    /// assert!(hive::par_for_until(0..1000, &stop, |range, _| drop(range)));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_for_until`].
    #[track_caller]
    #[doc(alias("cancellation", "omp cancel", "try_for_each", "break"))]
    pub fn par_for_until<F>(work: impl IntoLoop, stop: &Stop, body: F) -> bool
    where [F: Fn(Range<usize>, &Bee<'_>) + Sync];

    /// The first index of `range` for which `is_it` returns true, by the [current](crate#which-hive) hive. See
    /// [`Hive::par_find`].
    ///
    /// ```
    /// assert_eq!(hive::par_find(1..1_000_000, |i| i * i > 1_000_000), Some(1001));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_find`].
    #[track_caller]
    #[doc(alias("find_first", "position_first", "position_any", "any", "all", "search"))]
    pub fn par_find(range: Range<usize>, is_it: impl Fn(usize) -> bool + Sync) -> Option<usize>;

    /// The sum of what `term` returns for the indices of a loop, by the [current](crate#which-hive) hive; the same bits
    /// whatever the number of bees. See [`Hive::par_sum`].
    ///
    /// ```
    /// let x: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.1).collect();
    /// let mean = hive::par_sum(0..x.len(), |i| x[i]) / x.len() as f64;
    /// let variance = hive::par_sum(0..x.len(), |i| (x[i] - mean).powi(2)) / x.len() as f64;
    /// assert!((variance - 833.33).abs() < 0.01);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_sum`].
    #[track_caller]
    #[doc(alias("sum", "count", "mean", "reduction"))]
    pub fn par_sum<T, F>(work: impl IntoLoop, term: F) -> T where [T: Sum + Clone + Send, F: Fn(usize) -> T + Sync];

    /// The dot product of two slices, by the [current](crate#which-hive) hive; the same bits whatever the number of
    /// bees. See [`Hive::par_dot`].
    ///
    /// ```
    /// let x: Vec<f64> = (0..1000).map(f64::from).collect();
    /// assert_eq!(hive::par_dot(&x, &x), 332_833_500.0);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_dot`].
    #[track_caller]
    #[doc(alias("inner product", "ddot", "norm"))]
    pub fn par_dot<T>(x: &[T], y: &[T]) -> T where [T: Mul<Output = T> + Sum + Copy + Send + Sync];

    /// The smallest and the largest of what `value` returns, by the [current](crate#which-hive) hive. See
    /// [`Hive::par_min_max`].
    ///
    /// ```
    /// let x: Vec<i64> = (0..1000).map(|i| i * 7919 % 1009).collect();
    /// assert_eq!(hive::par_min_max(0..x.len(), |i| x[i]), Some((0, 1008)));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_min_max`].
    #[track_caller]
    #[doc(alias("min", "max", "minmax", "range"))]
    pub fn par_min_max<T, F>(work: impl IntoLoop, value: F) -> Option<(T, T)>
    where [T: PartialOrd + Copy + Send, F: Fn(usize) -> T + Sync];

    /// The first index for which `value` returns the smallest value, and that value, by the [current](crate#which-hive)
    /// hive. See [`Hive::par_argmin`].
    ///
    /// ```
    /// // The point that is nearest to the origin.
    /// let points = [[3.0_f64, 4.0], [1.0, 1.0], [0.0, 2.0]];
    /// assert_eq!(hive::par_argmin(0..3, |i| points[i].iter().map(|x| x * x).sum::<f64>()), Some((1, 2.0)));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_argmin`].
    #[track_caller]
    #[doc(alias("argmax", "min_by_key", "idamax", "arg_min"))]
    pub fn par_argmin<T, F>(work: impl IntoLoop, value: F) -> Option<(usize, T)>
    where [T: PartialOrd + Clone + Send, F: Fn(usize) -> T + Sync];
}
