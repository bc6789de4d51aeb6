//! A region and a loop in one call: `Hive::par_for`. It starts a region in which each bee runs its part of one `Loop`.

use std::ops::Range;

use crate::loops::shared_loop::{IntoLoop, Loop};
use crate::pool::handle::Hive;
use crate::pool::loop_costs::LoopKind;
use crate::region::bee::Bee;
use crate::region::no_double_panic::NoDoublePanic;

impl Hive {
    /// Runs `body` for all indices of a loop, which all [`bees`](Self::bees) of the hive share out: a region and a loop
    /// in one. Returns when all indices are done.
    ///
    /// `work` is a range, a range and a [`Schedule`](crate::loops::schedule::Schedule), a [`Loop`], which can also say
    /// that blocks are aligned or that bees have a minimum amount of work, or a [`Plan`](crate::memory::plan::Plan),
    /// for which each bee runs the indices that it owns. `body` is called with one range of indices after another, and
    /// with the bee that it runs on; see [`Bee::for_each`].
    ///
    /// The bees of a loop need not run at the same time. So this does not wait for a worker that is asleep, in the
    /// middle of a task, or without a CPU because other threads have it: a bee that is done runs that worker's part in
    /// its name, as the bee of its number, but on its own thread. If the workers sleep or have no CPU and the loop is
    /// too short to wait for them, or if it is too short for a team at all, the calling thread runs all parts so. And
    /// no more bees run parts than there are CPUs, unless `work` is a plan: parts that wait, for a disk or a network,
    /// would not overlap then; use [`spmd`](Self::spmd) for these. See
    /// [`protocols::latecomers`](crate::protocols::latecomers) and
    /// [`protocols::lone_loops`](crate::protocols::lone_loops).
    ///
    /// Which thread runs an index is therefore not promised; where it matters, because of thread-locals or of memory
    /// that a thread is to touch first, call [`Bee::for_each`] in [`spmd`](Self::spmd). Nor may a part wait by means of
    /// its own, such as a channel, for another one or for a task that was sent to one worker.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let hive = hive::Hive::new(3)?;
    /// let sum = AtomicUsize::new(0);
    /// hive.par_for((0..1000, hive::Schedule::Guided(8)), |range, _| {
    ///     sum.fetch_add(range.sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), and if the schedule asks for chunks of 0 indices. If `body` calls what bees meet by or
    /// share work with, such as [`Bee::barrier`], [`Bee::ordered`] or [`Bee::for_each`]: the bees of a loop need not be
    /// there at the same time.
    #[inline]
    #[track_caller]
    #[doc(alias("parallel for", "parallel_for", "omp for", "for_each", "par_iter", "omp parallel for", "taskloop"))]
    pub fn par_for<F: Fn(Range<usize>, &Bee<'_>) + Sync>(&self, work: impl IntoLoop, body: F) {
        let body = NoDoublePanic::new(body);
        self.run_weighted(work.into(), 1, body.into_inner());
    }

    /// As [`par_for`](Self::par_for), for a loop each of whose indices stands for `weight` elements.
    #[inline]
    #[track_caller]
    pub(crate) fn run_weighted<F: Fn(Range<usize>, &Bee<'_>) + Sync>(&self, mut shared: Loop, weight: usize, body: F) {
        let indices = shared.range().len().saturating_mul(weight);
        let work = shared.work(indices, LoopKind::OfBees);
        // A bee finds its plain block by the range alone. The closure owns all that it needs for that, in one piece,
        // because each cache line of the caller's stack that a bee reads is a transfer between cores.
        let (range, is_plain) = (shared.range(), shared.range_in_plain_blocks().is_some());
        let bees = if is_plain { shared.team_size(self.bees()) } else { shared.take_words(self.bees()) };
        let with_words = (!is_plain).then_some(&shared);
        self.run_parts(bees, work, move |bee| match with_words {
            Some(shared) => shared.run_dealt(None, &bee.context, &mut |range| body(range, bee)),
            None => {
                let block = bee.split(range.clone());
                if !block.is_empty() {
                    body(block, bee);
                }
            }
        });
        if !is_plain {
            shared.put_words_back();
        }
    }
}
