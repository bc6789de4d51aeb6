//! A region and a loop in one call.

use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::Loop;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;

impl Hive {
    /// Runs `body` for all indices of `range`, dealt out by `schedule` to all bees that are awake: a region and a loop in one. Returns when all is done.
    ///
    /// `body` gets one range of indices after the other, and the bee that it runs on; see [`Bee::for_each`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hive = hive::Hive::new(3)?;
    /// let sum = AtomicUsize::new(0);
    /// hive.par_for(0..1000, hive::Schedule::Guided(8), |range, _| {
    ///     sum.fetch_add(range.sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), and if the schedule asks for chunks of 0 indices.
    #[inline]
    #[track_caller]
    pub fn par_for<F: Fn(Range<usize>, &Bee<'_>) + Sync>(&self, range: Range<usize>, schedule: Schedule, body: F) {
        self.par_loop(Loop::new(range, schedule), body);
    }

    /// As [`par_for`](Self::par_for), of a [`Loop`] that says more: aligned blocks, a least amount of work.
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd).
    #[inline]
    #[track_caller]
    pub fn par_loop<F: Fn(Range<usize>, &Bee<'_>) + Sync>(&self, shared: Loop, body: F) {
        if let Some(blocks) = shared.blocks() {
            // All that a bee needs in one piece: each line of the caller's stack that it reads is a transfer.
            return self.spmd(shared.active_bees(self.bees()), move |bee| {
                let block = blocks.of(bee.id(), bee.bees());
                if !block.is_empty() {
                    body(block, bee);
                }
            });
        }
        shared.run_in_region(self.bees(), |shared, bees| {
            self.spmd(bees, move |bee| bee.for_each(shared, |range| body(range, bee)))
        });
    }
}
