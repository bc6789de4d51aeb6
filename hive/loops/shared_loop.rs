//! The public `Loop`: which indices there are, and under which schedule the bees of a team run them.
//!
//! `Bee::for_each` (`for_range.rs`) and `Hive::par_for` (`par_for.rs`) call `Loop::run` on each bee. It decides by the
//! schedule how this bee gets its indices: computed from its number (`Static`, `StaticChunk`), from work ranges with
//! stealing (`Dynamic`, `Affinity`; see `stealing.rs`), or from one queue (`Guided`, `Factoring`; see `unit_queue.rs`).
//! The protocol by which the bees coordinate is described in `docs/loops.md`.

use std::fmt;
use std::ops::Range;

use crate::loops::cache::CachedState;
use crate::loops::chunks::{Chunks, UnitMap, aligned_block};
use crate::loops::dispatch::Round;
use crate::loops::loop_spec::LoopSpec;
use crate::loops::loop_state::{DispatchKind, LoopState};
use crate::loops::own_state::OwnState;
use crate::loops::range_body::RangeBody;
use crate::loops::schedule::Schedule;
use crate::loops::stealing::StealingLoop;
use crate::loops::unit_queue::{factoring_len, guided_len};
use crate::loops::{cache, unit_queue, work_range};
use crate::pool::loop_costs::{LoopKind, Sharing};
use crate::pool::run_parts::LoopWork;
use crate::protocol::region::region_context::RegionContext;
use crate::region::split;

/// A loop over a range of indices that a team runs together: which indices there are, and how they are divided among
/// the bees. [`Bee::for_each`](crate::region::bee::Bee::for_each) runs it inside a region;
/// [`Hive::par_for`](crate::pool::handle::Hive::par_for) and
/// [`Hive::par_reduce`](crate::pool::handle::Hive::par_reduce) are a region and a loop in one.
///
/// These two take anything that is a loop: a range, which is divided by [`Schedule::Static`]; a range and a schedule; a
/// [`Plan`](crate::memory::plan::Plan), by which each bee runs the indices that it owns; or a `Loop`, which can say
/// more.
///
/// ```
/// use hive::{Loop, Schedule};
///
/// let print = |range: std::ops::Range<usize>, bee: &hive::Bee<'_>| println!("{bee:?} runs {range:?}");
/// hive::par_for(0..100, print);
/// hive::par_for((0..100, Schedule::Dynamic(16)), print);
/// hive::par_for(&hive::global().plan(100), print);
/// hive::par_for(Loop::new(0..100, Schedule::Dynamic(16)).min_work(50), print);
/// ```
///
/// A loop that bees run by `for_each` keeps some memory for each hive that has run it, until the loop is dropped, also
/// when the hive is gone. A program that builds hives again and again makes its loops again as well.
///
/// Inside a region, [`Bee::for_range`](crate::region::bee::Bee::for_range) runs a loop that the bees make there, and
/// waits until all of it is done. A loop for `for_each`, with a schedule that hands out chunks at run time, is made
/// once, outside of the region, and shared by the bees:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use hive::{Loop, Schedule};
///
/// // The rows of a triangle: each is longer than the one before.
/// let rows = Loop::new(0..1000, Schedule::Dynamic(4));
/// let cells = AtomicU64::new(0);
/// hive::spmd(4, |bee| {
///     bee.for_each(&rows, |range| {
///         cells.fetch_add(range.map(|row| row as u64).sum(), Ordering::Relaxed);
///     });
/// });
/// assert_eq!(cells.into_inner(), 499_500);
/// ```
pub struct Loop {
    /// Which indices there are, and how they are divided. `Bee::for_range` compares this with that of other bees.
    pub(crate) spec: LoopSpec,
    /// The words that the bees share while they run the loop; made by the bee that first needs them. In boxes of their
    /// own, because a cached state is used by many loops one after another, and making a `Loop` must not write to the
    /// cache lines that the bees share.
    state: OwnState,
    /// What `take_words` has supplied in the place of `state`: words that are ready for one round, the only one that
    /// is run. None: each run begins its round by `LoopState::begin_round`.
    only_round: Option<CachedState>,
}

impl Loop {
    /// A loop over `range`, divided by `schedule`.
    ///
    /// ```
    /// use hive::{Loop, Schedule};
    ///
    /// let rows = Loop::new(1..1023, Schedule::Guided(4));
    /// hive::spmd(2, |bee| {
    ///     for _step in 0..10 {
    ///         bee.for_each(&rows, |rows| assert!(rows.start >= 1 && rows.end <= 1023));
    ///         bee.barrier();
    ///     }
    /// });
    /// ```
    ///
    /// # Panics
    /// If the schedule asks for chunks of 0 indices.
    #[inline]
    #[track_caller]
    pub fn new(range: Range<usize>, schedule: Schedule) -> Self {
        assert!(schedule.min_chunk() > 0, "{schedule:?}: a chunk has at least one index");
        let spec = LoopSpec { range: (range.start, range.end), schedule, multiple: 1, min_work: 1, owners: 0 };
        Self { spec, state: OwnState::default(), only_round: None }
    }

    /// Divides the range among exactly `owners` bees: the blocks are those of a team of so many, and
    /// [`par_for`](crate::pool::handle::Hive::par_for) runs the loop on a team of so many.
    #[inline]
    pub(crate) fn with_owners(mut self, owners: usize) -> Self {
        (self.spec.owners, self.spec.min_work) = (owners, 0);
        self
    }

    /// Makes blocks and chunks begin at multiples of `multiple` indices, except where the range itself begins, so that
    /// no two bees write to the same cache line or vector: a cache line holds 8 doubles. Chunk lengths are rounded up
    /// to a multiple of `multiple`.
    ///
    /// ```
    /// use hive::{Loop, Schedule};
    ///
    /// let aligned = Loop::new(3..100, Schedule::Static).aligned(8);
    /// hive::spmd(3, |bee| bee.for_each(&aligned, |block| assert!(block.start == 3 || block.start % 8 == 0)));
    /// ```
    ///
    /// # Panics
    /// If `multiple` is 0.
    #[track_caller]
    pub fn aligned(mut self, multiple: usize) -> Self {
        assert!(multiple > 0, "blocks cannot begin at multiples of 0");
        self.spec.multiple = multiple;
        self
    }

    /// Lets only so many bees take part that each of them has at least `indices` indices: for loops that may be too
    /// short to be worth a team.
    ///
    /// [`par_for`](crate::pool::handle::Hive::par_for) makes the team itself that small; a team of one bee is the
    /// caller, and costs a function call. Inside a region the other bees have nothing to do. A loop that was made from
    /// a [`Plan`](crate::memory::plan::Plan) is then divided among the bees that take part, and no longer by the plan.
    ///
    /// ```
    /// use hive::{Loop, Schedule};
    ///
    /// let hive = hive::Hive::new(4)?;
    /// hive.par_for(Loop::new(0..1500, Schedule::Static).min_work(1000), |range, bee| {
    ///     assert_eq!((bee.bees(), range), (1, 0..1500));
    /// });
    /// # Ok::<(), hive::Error>(())
    /// ```
    #[doc(alias("with_min_len", "if clause"))]
    pub fn min_work(mut self, indices: usize) -> Self {
        self.spec.min_work = indices.max(1);
        self
    }

    /// All indices of the loop.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.spec.range.0..self.spec.range.1
    }

    /// Whether this is a `Static` loop of which each bee runs one block, the `aligned_block` of its number.
    #[inline]
    pub(crate) fn is_in_blocks(&self) -> bool {
        self.spec.schedule == Schedule::Static && self.spec.owners == 0
    }

    /// The range of a `Static` loop, if each bee runs the block of it that `split::block` gives; None for other loops.
    #[inline]
    pub(crate) fn range_in_plain_blocks(&self) -> Option<Range<usize>> {
        (self.is_in_blocks() && self.spec.multiple == 1).then(|| self.range())
    }

    /// The number of bees that a region for this loop is to have, on a hive of `bees` bees: fewer because of
    /// `min_work`, or as many as the loop has owners.
    #[inline]
    pub(crate) fn team_size(&self, bees: usize) -> usize {
        self.active_bees(if self.spec.owners > 0 { self.spec.owners } else { bees })
    }

    /// How many bees of a team of `bees` take part, considering `min_work`. At least 1.
    #[inline]
    fn active_bees(&self, bees: usize) -> usize {
        match self.spec.min_work {
            0 => bees,
            // The usual case, without a division.
            1 => self.range().len().clamp(1, bees),
            indices => (self.range().len() / indices).clamp(1, bees),
        }
    }

    /// Runs the part of the bee that `context` belongs to: passes each range of indices that the bee gets to `body`.
    ///
    /// `common`: the words to use in place of the loop's own, for teams of at least this size. `Bee::for_range` has
    /// them: there each bee has made a `Loop` of its own from the same arguments, and `common` is what the bees share.
    #[inline(always)]
    pub(crate) fn run(&self, common: Option<&LoopState>, context: &RegionContext<'_>, body: &mut impl RangeBody) {
        match self.range_in_plain_blocks() {
            Some(range) => {
                let (id, bees) = (context.id as usize, self.active_bees(context.bees as usize));
                let block = if id < bees { split::block(range, id, bees) } else { 0..0 };
                if !block.is_empty() {
                    body.run_range(block);
                }
            }
            None => self.run_dealt(common, context, body),
        }
    }

    /// The same for a loop that is not in plain blocks, by calls through pointers.
    pub(crate) fn run_dealt(&self, common: Option<&LoopState>, context: &RegionContext<'_>, body: &mut dyn RangeBody) {
        let (id, bees) = (context.id as usize, self.active_bees(context.bees as usize));
        match self.spec.schedule {
            // Blocks of owners, whose bees may be missing.
            Schedule::Static if self.spec.owners > 0 && self.spec.min_work == 0 => {
                self.run_blocks_of_owners(id, bees, body);
            }
            // One block for each bee, computed from the bee's number.
            Schedule::Static if id < bees => {
                let block = aligned_block(self.range(), self.spec.multiple, id, bees);
                if !block.is_empty() {
                    body.run_range(block);
                }
            }
            // Chunks in turn, computed from the bee's number.
            Schedule::StaticChunk(chunk) if id < bees => {
                let chunks = self.chunks_of(chunk);
                body.run_chunks(&chunks, id..chunks.count(), bees);
            }
            // The bee takes no part, because of `min_work`.
            Schedule::Static | Schedule::StaticChunk(_) => {}
            // There is nobody to share with, so no shared words are needed. `Dynamic` keeps the user's chunk length,
            // which `body` may rely on; under the other schedules the whole range is one chunk.
            schedule if context.bees == 1 => {
                let chunks = self.chunks_of(if let Schedule::Dynamic(chunk) = schedule { chunk } else { usize::MAX });
                self.run_chunks(&chunks, 0..chunks.count(), body);
            }
            // A bee that takes no part counts rounds as the others do.
            Schedule::Dynamic(_) | Schedule::Affinity => {
                let round = self.begin_round(common, context, id < bees);
                if id < bees {
                    self.run_stealing(round, context, bees, body);
                }
            }
            Schedule::Guided(_) | Schedule::Factoring => {
                let round = self.begin_round(common, context, false);
                if id < bees {
                    self.run_queue(round, context, bees, body);
                }
            }
        }
    }

    /// What to start a region for that runs this loop. `indices`: how long the loop is for the hive's estimates of its
    /// cost, which may be more than it has indices itself. `kind` is told how the bees share the indices.
    #[inline]
    pub(crate) fn work(&self, indices: usize, kind: impl FnOnce(Sharing) -> LoopKind) -> LoopWork {
        LoopWork { indices, kind: kind(self.spec.schedule.sharing()), is_planned: self.spec.owners > 0 }
    }

    /// Runs the blocks that belong to bee `id` of `bees` when the range is divided among `owners` bees: its own, and
    /// those of missing bees.
    fn run_blocks_of_owners(&self, id: usize, bees: usize, body: &mut dyn RangeBody) {
        let LoopSpec { multiple, owners, .. } = self.spec;
        let blocks = (id..owners).step_by(bees).map(|owner| aligned_block(self.range(), multiple, owner, owners));
        blocks.filter(|block| !block.is_empty()).for_each(|block| body.run_range(block));
    }

    /// Takes the words that the bees share, if the schedule needs any, from the calling thread's cache, for a region in
    /// which each bee runs its part of the loop exactly once, on a hive of `hive_bees` bees. So a loop allocates
    /// nothing if the last one of its kind had a team of the same size. Returns the number of bees to start. After the
    /// region, call `put_words_back`.
    pub(crate) fn take_words(&mut self, hive_bees: usize) -> usize {
        let bees = self.team_size(hive_bees);
        self.only_round = self.dispatch_kind().filter(|_| bees > 1).map(|kind| cache::take(kind, bees as u32));
        bees
    }

    /// Puts the words back into the cache after the region. This is not called if the region panics: then the words may
    /// be in different rounds, and are dropped with the loop.
    pub(crate) fn put_words_back(self) {
        // If the team was the caller alone, it needed no state, and the words are still in the round before.
        if let (Some(kind), Some(CachedState { state, round })) = (self.dispatch_kind(), self.only_round) {
            let round = if state.has_finished(kind, round) { round } else { round.wrapping_sub(1) };
            cache::put(kind, CachedState { state, round });
        }
    }

    /// The kind of shared words that the schedule needs; None if it needs none.
    fn dispatch_kind(&self) -> Option<DispatchKind> {
        match self.spec.schedule {
            Schedule::Static | Schedule::StaticChunk(_) => None,
            Schedule::Dynamic(_) | Schedule::Affinity => Some(DispatchKind::Ranges),
            Schedule::Guided(_) | Schedule::Factoring => Some(DispatchKind::Queue),
        }
    }

    /// The range in chunks of this length.
    #[inline]
    fn chunks_of(&self, chunk_len: usize) -> Chunks {
        Chunks::new(&self.range(), chunk_len, self.spec.multiple)
    }

    /// The words that the bees share under a schedule that hands out chunks at run time, and the round that begins.
    /// `uses_range`: whether the bee takes units from its work range in this round. If not, `for_range` makes it empty.
    fn begin_round<'w>(
        &'w self,
        words: Option<&'w LoopState>,
        context: &RegionContext<'_>,
        uses_range: bool,
    ) -> Round<'w> {
        match (words, &self.only_round) {
            (Some(words), _) => words.begin_round_of_any_loop(context, uses_range),
            (None, Some(cached)) => (&cached.state.first, cached.round),
            (None, None) => self.state.of_region(context).begin_round(context),
        }
    }

    /// `Dynamic` and `Affinity`: each bee has a work range of units, and steals from the others when it is empty.
    fn run_stealing(&self, round: Round<'_>, context: &RegionContext<'_>, bees: usize, body: &mut dyn RangeBody) {
        let (dispatch, round) = round;
        // Under `Affinity` a chunk is a single index, or a single multiple; a bee runs many of them together.
        let chunks = self.chunks_of(self.spec.schedule.min_chunk());
        let units = UnitMap::new(chunks.count(), work_range::MAX_UNITS);
        let stealing = StealingLoop { dispatch, context, round, bees, units: units.count as u32 };
        let numbers_of = |taken: Range<u32>| units.chunks_of(taken.start as usize..taken.end as usize);
        if self.spec.schedule == Schedule::Affinity {
            stealing.run_affinity(|taken| body.run_range(chunks.indices(numbers_of(taken))));
        } else {
            stealing.run_dynamic(|taken| self.run_chunks(&chunks, numbers_of(taken), body));
        }
    }

    /// Runs the chunks with these numbers, one after another.
    #[inline]
    fn run_chunks(&self, chunks: &Chunks, numbers: Range<usize>, body: &mut dyn RangeBody) {
        if self.spec.schedule == Schedule::Dynamic(1) && self.spec.multiple == 1 {
            // `Dynamic(1)`: this tells the compiler that each range is one index.
            body.run_each_index(chunks.indices(numbers));
        } else {
            body.run_chunks(chunks, numbers, 1);
        }
    }

    /// `Guided` and `Factoring`: all bees take units from one queue.
    fn run_queue(&self, round: Round<'_>, context: &RegionContext<'_>, bees: usize, body: &mut dyn RangeBody) {
        let (dispatch, round) = round;
        let chunks = self.chunks_of(1);
        let units = UnitMap::new(chunks.count(), unit_queue::MAX_UNITS);
        // The shortest chunk, converted from indices to multiples and from those to units.
        let min_len = self.spec.schedule.min_chunk().div_ceil(self.spec.multiple).div_ceil(units.chunks_per_unit);
        let amount = |next| match self.spec.schedule {
            Schedule::Factoring => factoring_len(next, units.count, bees),
            _ => guided_len(next, units.count, bees, min_len),
        };
        while let Some(taken) = dispatch.queue.take(round, units.count, amount) {
            body.run_range(chunks.indices(units.chunks_of(taken)));
            // If the queen has begun the loop alone and it takes too long, the workers now get what is left.
            context.start_if_long();
        }
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loop {{ {} }}", self.spec)
    }
}

/// What is a loop: a range of `usize`, a range and a [`Schedule`], a [`Loop`], or a reference to a
/// [`Plan`](crate::memory::plan::Plan). All that can be converted into a [`Loop`] has it.
///
/// ```
/// fn count(work: impl hive::IntoLoop) -> usize {
///     hive::par_sum(work, |_| 1)
/// }
/// assert_eq!(count(0..10) + count((0..10, hive::Schedule::Dynamic(2))), 20);
/// ```
#[diagnostic::on_unimplemented(
    message = "a loop goes over indices: `0..x.len()`, a `(range, Schedule)`, a `Loop` or a `&Plan`, not a `{Self}`",
    note = "its closure gets indices, or ranges of them, and captures what it reads: `&x`",
    note = "a range of another integer type: `0..n as usize`"
)]
pub trait IntoLoop: Into<Loop> {}

#[diagnostic::do_not_recommend]
impl<W: Into<Loop>> IntoLoop for W {}

/// A loop over the range, divided by [`Schedule::Static`].
impl From<Range<usize>> for Loop {
    #[inline]
    fn from(range: Range<usize>) -> Self {
        Self::new(range, Schedule::Static)
    }
}

/// A loop over the range, divided by the schedule: see [`Loop::new`].
///
/// # Panics
/// If the schedule asks for chunks of 0 indices.
impl From<(Range<usize>, Schedule)> for Loop {
    #[inline]
    #[track_caller]
    fn from((range, schedule): (Range<usize>, Schedule)) -> Self {
        Self::new(range, schedule)
    }
}
