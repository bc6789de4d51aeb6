//! A region of all bees that the hive has when it starts: `Hive::spmd_all`.

use crate::pool::handle::Hive;
use crate::pool::run_parts::Work;
use crate::region::bee::Bee;

impl Hive {
    /// Runs `body` once on each bee that the hive has now, and returns when all of them are done: a
    /// [region](Self::spmd) whose size is the hive's. [`Bee::bees`] says inside how many there are.
    ///
    /// `spmd(hive.bees(), ...)` asks for a number, and grows the hive if it has fewer bees by then: where another
    /// thread makes the hive smaller by [`resize`](Self::resize), that can undo it, and a number that was asked for
    /// long ago mostly does. This never makes a hive larger. If the hive is made smaller while the region starts or
    /// runs, the surplus bees still run their part and then park.
    ///
    /// What is divided among the bees is divided inside, by [`Bee::split`] or [`Bee::for_range`]; `Parts` that are cut
    /// outside are gone through by loops, and [`PerBee`](crate::slices::per_bee::PerBee)s are made for
    /// [`max_bees`](Self::max_bees) bees.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(2)?;
    /// let sum = AtomicUsize::new(0);
    /// hive.spmd_all(|bee| {
    ///     assert_eq!(bee.bees(), 2);
    ///     sum.fetch_add(bee.split(0..1000).sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!((sum.into_inner(), hive.bees()), (499_500, 2));
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// In a forked child, and with the panics of `body`, as [`spmd`](Self::spmd).
    #[inline]
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "broadcast", "whole team"))]
    pub fn spmd_all<F: Fn(&Bee<'_>) + Sync>(&self, body: F) {
        self.run_parts::<false, F>(self.max_bees(), Work::PresentParts, body);
    }

    /// Runs a region of all bees that the hive has now, as [`spmd_all`](Self::spmd_all), and returns what `body`
    /// returned on each, in the order of the bees' numbers.
    ///
    /// ```
    /// let x = vec![0.5; 1 << 16];
    /// let sums = hive::global().spmd_all_map(|bee| x[bee.split(0..x.len())].iter().sum::<f64>());
    /// assert_eq!(sums.iter().sum::<f64>(), 32_768.0);
    /// ```
    ///
    /// # Panics
    /// As [`spmd_all`](Self::spmd_all).
    #[track_caller]
    #[doc(alias("parallel", "omp parallel", "broadcast"))]
    pub fn spmd_all_map<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(&self, body: F) -> Vec<R> {
        // Room for the results of as many as there are; if the hive grows meanwhile, the region has no more.
        self.map_parts::<false, R, F>(self.bees(), Work::PresentParts, body)
    }
}
