//! Loops inside a region, as methods of [`Bee`]: `for_each` runs the bee's part of a `Loop`, and `split_aligned` says
//! which block of a range is the bee's.

use std::ops::Range;

use crate::loops::blocks::Blocks;
use crate::loops::shared_loop::Loop;
use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Runs this bee's part of `shared`: calls `body` with one range of indices after another, until none are left. The
    /// ranges of all bees together are the loop's range, and each index is run once.
    ///
    /// A range is a block or a chunk, depending on the schedule. The indices of a bee rise from one call to the next,
    /// except after it has stolen some from another bee. `for_each` returns when no indices are left to get: other bees
    /// may still be running theirs, so a [`barrier`](Self::barrier) is needed before what they wrote is read, as after
    /// OpenMP's `nowait`.
    ///
    /// All bees must run the loop the same number of times in a region. A loop may be run again, in the same region and
    /// in later ones, and by several hives at the same time: each team runs all of its indices. (A loop whose chunks
    /// are handed out at run time keeps some words for each hive that has run it.) It must be made outside the region:
    /// if each bee made a loop for itself, each bee would run its own loop alone. Loops that are made inside are run by
    /// [`for_range`](Self::for_range).
    ///
    /// The bees need not keep together: a bee may run the loop any number of times before another has begun. A bee
    /// waits for another only at the end of a run, if the other has claimed several chunks of the same run at once and
    /// may give some of them back.
    ///
    /// ```
    /// use hive::{Loop, PerBee, Schedule};
    ///
    /// // A histogram: each bee counts in bins of its own.
    /// let samples: Vec<f64> = (0..10_000).map(|i| (f64::from(i) * 0.1).sin()).collect();
    /// let chunks = Loop::new(0..samples.len(), Schedule::Dynamic(256));
    /// let bins = PerBee::new(4, |_| [0; 10]);
    /// hive::spmd(4, |bee| {
    ///     let mut own = bins.get(bee);
    ///     bee.for_each(&chunks, |range| samples[range].iter().for_each(|x| own[((x + 1.0) * 4.99) as usize] += 1));
    /// });
    /// assert_eq!(bins.into_iter().flatten().sum::<i32>(), 10_000);
    /// ```
    ///
    /// # Panics
    /// If a bee has made a loop for itself inside the region, whose chunks are handed out at run time: when that is
    /// dropped. In the body of another `for_each` or [`for_range`](Self::for_range), in the work of any other call by
    /// which the bees meet, and in the body of a loop that is a region of its own, such as [`par_for`](crate::par_for).
    ///
    /// If `body` panics, other indices of the run may be left out as well. So the region has failed, whatever is
    /// caught: see [`barrier`](Self::barrier). The loop may be run again in the next region.
    #[inline]
    #[track_caller]
    #[doc(alias("omp for", "nowait"))]
    pub fn for_each(&self, shared: &Loop, mut body: impl FnMut(Range<usize>)) {
        let call = self.context.begin_call(Operation::ForEach);
        if !self.context.has_failed() {
            shared.run(self.context, &mut body);
        }
        call.end();
    }

    /// Like [`split`](Self::split), with blocks that begin at multiples of `multiple`, except where `range` itself
    /// begins: see [`Loop::aligned`].
    ///
    /// ```
    /// hive::spmd(2, |bee| assert_eq!(bee.split_aligned(0..20, 8), [0..16, 16..20][bee.id()]));
    /// ```
    ///
    /// # Panics
    /// If `multiple` is 0.
    #[inline]
    #[track_caller]
    pub fn split_aligned(&self, range: Range<usize>, multiple: usize) -> Range<usize> {
        assert!(multiple > 0, "blocks cannot begin at multiples of 0");
        Blocks::new(range, multiple).of(self.id(), self.bees())
    }
}
