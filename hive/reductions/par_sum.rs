//! Reductions in one line, whose results are the same bits whatever the team and the schedule: `Hive::par_sum`,
//! `Hive::par_dot`, `Hive::par_min_max` and `Hive::par_argmin`. Where that is not needed, `Hive::par_reduce` with an
//! unordered reduction is faster for short loops.

use std::array;
use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::Mul;

use crate::loops::shared_loop::IntoLoop;
use crate::pool::handle::Hive;
use crate::reductions::of_those_there;
use crate::reductions::reduction::Reduction;
use crate::region::no_double_panic::NoDoublePanic;

/// In how many sums at once the products of a block are added up, so that the compiler can use vectors.
const LANES: usize = 8;

impl Hive {
    /// The sum of what `term` returns for the indices of a loop: `work` is what [`par_for`](Self::par_for) takes. The
    /// same bits whatever the number of bees and the schedule, as of a
    /// [`Deterministic`](crate::reductions::reduction::Deterministic) reduction. Arrays and tuples have no sum of their
    /// own: [`par_reduce`](Self::par_reduce) adds them up.
    ///
    /// ```
    /// let x: Vec<f64> = (1..=1000).map(f64::from).collect();
    /// assert_eq!(hive::par_sum(0..x.len(), |i| x[i]), 500_500.0);
    /// assert_eq!(hive::par_sum(0..x.len(), |i| usize::from(x[i] > 990.0)), 10);
    /// ```
    ///
    /// # Panics
    /// As [`par_reduce`](Self::par_reduce).
    #[track_caller]
    #[doc(alias("sum", "count", "mean", "reduction"))]
    pub fn par_sum<T: Sum + Clone + Send>(&self, work: impl IntoLoop, term: impl Fn(usize) -> T + Sync) -> T {
        let term = NoDoublePanic::new(term);
        self.par_reduce(work, &Reduction::deterministic(nothing(), plus), |range| range.map(&*term).sum())
    }

    /// The dot product of two slices. The same bits whatever the number of bees.
    ///
    /// ```
    /// let (x, y) = (vec![0.5; 1000], vec![4.0; 1000]);
    /// assert_eq!(hive::par_dot(&x, &y), 2000.0);
    /// ```
    ///
    /// # Panics
    /// If the slices are of different lengths, and as [`par_reduce`](Self::par_reduce).
    #[track_caller]
    #[doc(alias("inner product", "ddot", "norm"))]
    pub fn par_dot<T: Mul<Output = T> + Sum + Copy + Send + Sync>(&self, x: &[T], y: &[T]) -> T {
        assert_eq!(x.len(), y.len(), "a dot product of slices of different lengths");
        self.par_reduce(0..x.len(), &Reduction::deterministic(nothing(), plus), |range| {
            let (x, y) = (x[range.clone()].chunks_exact(LANES), y[range].chunks_exact(LANES));
            let rest = x.remainder().iter().zip(y.remainder()).map(|(x, y)| *x * *y).sum();
            let add = |sums: [T; LANES], (x, y): (&[T], &[T])| array::from_fn(|i| plus(sums[i], x[i] * y[i]));
            x.zip(y).fold([nothing(); LANES], add).into_iter().chain([rest]).sum()
        })
    }

    /// The smallest and the largest of what `value` returns for the indices of a loop: `work` is what
    /// [`par_for`](Self::par_for) takes. Values that compare with nothing, not even themselves, are left out: NaN.
    /// None: there are no others.
    ///
    /// ```
    /// let x = [3.0, f64::NAN, -1.0, 7.0];
    /// assert_eq!(hive::par_min_max(0..4, |i| x[i]), Some((-1.0, 7.0)));
    /// assert_eq!(hive::par_min_max(0..0, |i| x[i]), None);
    /// ```
    ///
    /// # Panics
    /// As [`par_reduce`](Self::par_reduce).
    #[track_caller]
    #[doc(alias("min", "max", "minmax", "range"))]
    pub fn par_min_max<T, F>(&self, work: impl IntoLoop, value: F) -> Option<(T, T)>
    where
        T: PartialOrd + Copy + Send,
        F: Fn(usize) -> T + Sync,
    {
        let value = NoDoublePanic::new(value);
        // Of equal values that are not the same, such as 0.0 and -0.0, the first stays.
        let wider = |(least, most): (T, T), (low, high): (T, T)| {
            (if low < least { low } else { least }, if high > most { high } else { most })
        };
        self.par_reduce(work, &Reduction::deterministic(None, of_those_there(wider)), |range| {
            range.map(&*value).filter(|value| compares(value)).map(|value| (value, value)).reduce(wider)
        })
    }

    /// The index for which `value` returns the smallest value, and that value; of several the first index. Values that
    /// compare with nothing are left out, as in [`par_min_max`](Self::par_min_max). For the largest value, negate it or
    /// use `std::cmp::Reverse`.
    ///
    /// ```
    /// let x = [3.0, -1.0, 7.0, -1.0];
    /// assert_eq!(hive::par_argmin(0..4, |i| x[i]), Some((1, -1.0)));
    /// ```
    ///
    /// # Panics
    /// As [`par_reduce`](Self::par_reduce).
    #[track_caller]
    #[doc(alias("argmax", "min_by_key", "idamax", "arg_min"))]
    pub fn par_argmin<T, F>(&self, work: impl IntoLoop, value: F) -> Option<(usize, T)>
    where
        T: PartialOrd + Clone + Send,
        F: Fn(usize) -> T + Sync,
    {
        let value = NoDoublePanic::new(value);
        let smaller = |a: (usize, T), b: (usize, T)| match b.1.partial_cmp(&a.1) {
            Some(Ordering::Less) => b,
            Some(Ordering::Equal) if b.0 < a.0 => b,
            _ => a,
        };
        self.par_reduce(work, &Reduction::unordered(None, of_those_there(smaller)), |range| {
            range.map(|index| (index, value(index))).filter(|(_, value)| compares(value)).reduce(smaller)
        })
    }
}

/// The sum of no values.
fn nothing<T: Sum>() -> T {
    std::iter::empty::<T>().sum()
}

/// The sum of two values.
fn plus<T: Sum>(a: T, b: T) -> T {
    [a, b].into_iter().sum()
}

/// Whether a value compares with itself.
fn compares<T: PartialOrd>(value: &T) -> bool {
    value.partial_cmp(value).is_some()
}
