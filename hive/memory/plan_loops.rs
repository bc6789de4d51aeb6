//! Loops over the indices of a plan, in which each bee runs the indices that it owns: `Hive::par_for_plan` as a region
//! of its own, `Bee::for_plan` inside a region.

use std::ops::Range;

use crate::memory::plan::Plan;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;

impl Hive {
    /// Runs `body` for all indices of `plan`, each bee for the indices that it owns: a region and a loop in one.
    /// Returns when all indices are done.
    ///
    /// Bees that own no indices do nothing. In a nested region (see [`spmd`](Self::spmd)) the only bee runs one block
    /// after another.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hive = hive::Hive::new(3)?;
    /// let plan = hive.plan(1000);
    /// let sum = AtomicUsize::new(0);
    /// hive.par_for_plan(&plan, |range, _| {
    ///     sum.fetch_add(range.sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd) for as many bees as the plan has.
    #[inline]
    #[track_caller]
    pub fn par_for_plan<F: Fn(Range<usize>, &Bee<'_>) + Sync>(&self, plan: &Plan, body: F) {
        self.spmd(plan.bees(), |bee| bee.for_plan(plan, |range| body(range, bee)));
    }
}

impl Bee<'_> {
    /// Runs `body` for the indices that this bee owns by `plan`. If the team has fewer bees than the plan, the blocks
    /// whose owners are missing are divided among the team, block by block; if it has more, the other bees have nothing
    /// to do. There is no barrier at the end, as in [`for_each`](Self::for_each).
    ///
    /// ```
    /// let plan = hive::global().plan(1000);
    /// let lengths = hive::spmd_map(plan.bees(), |bee| {
    ///     let mut length = 0;
    ///     bee.for_plan(&plan, |range| length += range.len());
    ///     length
    /// });
    /// assert_eq!(lengths.iter().sum::<usize>(), 1000);
    /// ```
    #[inline]
    pub fn for_plan(&self, plan: &Plan, body: impl FnMut(Range<usize>)) {
        plan.ranges_for(self.id(), self.bees()).for_each(body);
    }
}
