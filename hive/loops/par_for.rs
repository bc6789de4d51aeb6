//! A region and a loop in one call: `Hive::par_for` and `Hive::par_loop`. Both start a region in which each bee runs
//! its part of one `Loop`.

use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::Loop;
use crate::pool::handle::Hive;
use crate::region::bee::Bee;

impl Hive {
    /// Runs `body` for all indices of `range`, which `schedule` divides among all bees that are awake: a region and a
    /// loop in one. Returns when all indices are done.
    ///
    /// `body` is called with one range of indices after another, and with the bee that it runs on; see
    /// [`Bee::for_each`].
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

    /// Like [`par_for`](Self::par_for), for a [`Loop`], which can say more: aligned blocks, a minimum amount of work
    /// per bee.
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd).
    #[inline]
    #[track_caller]
    pub fn par_loop<F: Fn(Range<usize>, &Bee<'_>) + Sync>(&self, shared: Loop, body: F) {
        if let Some(blocks) = shared.blocks() {
            // Blocks need no shared words. The closure owns copies of all that a bee needs, in one piece, because each
            // cache line of the caller's stack that a bee reads is a transfer between cores.
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
