//! A loop that the bees of a team run together.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use crate::loops::chunks::Chunks;
use crate::loops::dispatch::Dispatch;
use crate::loops::loop_state::{DispatchKind, LoopState};
use crate::loops::range_body::RangeBody;
use crate::loops::schedule::Schedule;
use crate::loops::stealing::StealingLoop;
use crate::loops::unit_queue::{factoring_len, guided_len};
use crate::loops::{cache, unit_queue, work_range};
use crate::protocol::region::region_context::RegionContext;
use crate::region::bee::Bee;
use crate::region::split;

/// A loop over a range of indices that a team runs together: which indices there are, and how they are dealt out. [`Bee::for_each`] runs it inside a
/// region; [`Hive::par_for`](crate::pool::handle::Hive::par_for) is a region and a loop in one.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use hive::{Loop, Schedule};
///
/// // Rows of a triangle: the later, the longer.
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
    range: Range<usize>,
    schedule: Schedule,
    multiple: usize,
    min_work: usize,
    /// Not in here: its lines are not written to with the others each time that a loop is made.
    state: OnceLock<Box<LoopState>>,
    /// The one round that is run, by a team for which the board has been made ready.
    only_round: Option<u16>,
}

impl Loop {
    /// A loop over `range`, dealt out by `schedule`.
    ///
    /// # Panics
    /// If the schedule asks for chunks of 0 indices.
    #[track_caller]
    pub fn new(range: Range<usize>, schedule: Schedule) -> Self {
        assert!(schedule.min_chunk() > 0, "{schedule:?}: a chunk has at least one index");
        Self { range, schedule, multiple: 1, min_work: 1, state: OnceLock::new(), only_round: None }
    }

    /// Has blocks and chunks begin at multiples of `multiple` indices, except where the range itself begins, so that no two bees write to the same cache line or vector:
    /// 8 doubles are a line. Chunks are rounded up to it.
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
        self.multiple = multiple;
        self
    }

    /// Has only so many bees take part that each has at least `indices_of` to do: for loops that may be too short to be worth a team.
    ///
    /// In [`par_loop`](crate::pool::handle::Hive::par_loop) the team is made as small as that; one of a single bee is the caller, and costs a function call. In a region the other bees
    /// have nothing to do.
    ///
    /// ```
    /// use hive::{Loop, Schedule};
    ///
    /// let hive = hive::Hive::new(4)?;
    /// hive.par_loop(Loop::new(0..1500, Schedule::Static).min_work(1000), |range, bee| assert_eq!((bee.bees(), range), (1, 0..1500)));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn min_work(mut self, indices: usize) -> Self {
        self.min_work = indices.max(1);
        self
    }

    /// The indices.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// How they are dealt out.
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// The blocks, if it is dealt out in such.
    pub(crate) fn blocks(&self) -> Option<Blocks> {
        (self.schedule == Schedule::Static).then(|| self.all_blocks())
    }

    fn all_blocks(&self) -> Blocks {
        Blocks::new(self.range(), self.multiple)
    }

    /// How many of a team of `team` have something to do.
    pub(crate) fn active_bees(&self, bees: usize) -> usize {
        (self.range.len() / self.min_work).clamp(1, bees)
    }

    /// Runs the part of `member`.
    #[inline]
    pub(crate) fn run(&self, context: &RegionContext<'_>, body: &mut impl RangeBody) {
        let (id, bees) = (context.id() as usize, self.active_bees(context.bees() as usize));
        match self.schedule {
            Schedule::Static if id < bees => {
                let block = self.all_blocks().of(id, bees);
                if !block.is_empty() {
                    body.run_range(block);
                }
            }
            Schedule::StaticChunk(chunk) if id < bees => {
                let chunks = Chunks::new(&self.range, chunk, self.multiple);
                (id..chunks.count()).step_by(bees).for_each(|i| body.run_range(chunks.indices(i..i + 1)));
            }
            Schedule::Static | Schedule::StaticChunk(_) => {}
            _ if context.bees() == 1 => {
                let chunks = Chunks::new(&self.range, self.single_bee_chunk(), self.multiple);
                self.run_chunks(&chunks, 0..chunks.count(), body);
            }
            _ => self.run_shared(context, bees, body),
        }
    }

    /// Runs `region`, which is to be a region of as many of `most` bees as the loop is for, in which each runs its part once.
    pub(crate) fn run_in_region<R>(mut self, max_bees: usize, region: impl FnOnce(&Self, usize) -> R) -> R {
        let bees = self.active_bees(max_bees);
        let kind = match self.schedule {
            Schedule::Static | Schedule::StaticChunk(_) => return region(&self, bees),
            _ if bees == 1 => return region(&self, bees),
            Schedule::Dynamic(_) | Schedule::Affinity => DispatchKind::Ranges,
            Schedule::Guided(_) | Schedule::Factoring => DispatchKind::Queue,
        };
        let (state, round) = cache::take(kind, bees as u32);
        self.only_round = Some(round);
        self.state = OnceLock::from(state);
        let result = region(&self, bees);
        // Not after a panic, when not all have been through the round; nor where the region was nested, and its only bee had no use for a board.
        if let Some(state) = self.state.into_inner().filter(|state| state.has_finished(kind, round)) {
            cache::put(kind, state, round);
        }
        result
    }

    /// The chunks that a bee gets when there is nobody to share with.
    fn single_bee_chunk(&self) -> usize {
        match self.schedule {
            Schedule::Dynamic(chunk) => chunk,
            _ => usize::MAX,
        }
    }

    /// Runs the part of `member` where chunks go to whoever comes for them.
    fn run_shared(&self, context: &RegionContext<'_>, bees: usize, body: &mut impl RangeBody) {
        let state = self.loop_state(context);
        let (dispatch, round) = match self.only_round {
            Some(round) => (state.only_dispatch(), round),
            None => state.begin_round(context),
        };
        if context.id() as usize >= bees {
            return;
        }
        match self.schedule {
            Schedule::Dynamic(_) | Schedule::Affinity => self.run_stealing(dispatch, context, round, bees, body),
            _ => self.run_queue(dispatch, round, bees, body),
        }
    }

    /// Shares of units, one a bee.
    fn run_stealing(
        &self,
        dispatch: &Dispatch,
        context: &RegionContext<'_>,
        round: u16,
        bees: usize,
        body: &mut impl RangeBody,
    ) {
        let chunks = Chunks::new(&self.range, self.schedule.min_chunk(), self.multiple);
        let units = UnitMap::new(chunks.count(), work_range::MAX_UNITS);
        let stealing = StealingLoop { dispatch, context, round, bees, units: units.count as u32 };
        let numbers_of =
            |units_range: Range<u32>| units.chunks_of(units_range.start as usize..units_range.end as usize);
        if self.schedule == Schedule::Affinity {
            stealing.run_affinity(|units_range| body.run_range(chunks.indices(numbers_of(units_range))));
        } else {
            stealing.run_dynamic(|units_range| self.run_chunks(&chunks, numbers_of(units_range), body));
        }
    }

    /// Some chunks, each by itself.
    #[inline]
    fn run_chunks(&self, chunks: &Chunks, numbers: Range<usize>, body: &mut impl RangeBody) {
        if self.schedule == Schedule::Dynamic(1) && self.multiple == 1 {
            // The compiler sees that each range is one index.
            body.run_each_index(chunks.indices(numbers));
        } else {
            numbers.for_each(|i| body.run_range(chunks.indices(i..i + 1)));
        }
    }

    /// One queue of units for all.
    fn run_queue(&self, dispatch: &Dispatch, round: u16, bees: usize, body: &mut impl RangeBody) {
        let chunks = Chunks::new(&self.range, 1, self.multiple);
        let units = UnitMap::new(chunks.count(), unit_queue::MAX_UNITS);
        let min_len = self.schedule.min_chunk().div_ceil(self.multiple).div_ceil(units.chunks_per_unit);
        let amount = |next| match self.schedule {
            Schedule::Guided(_) => guided_len(next, units.count, bees, min_len),
            _ => factoring_len(next, units.count, bees),
        };
        while let Some(taken) = dispatch.queue().take(round, units.count, amount) {
            body.run_range(chunks.indices(units.chunks_of(taken)));
        }
    }

    #[track_caller]
    fn loop_state(&self, context: &RegionContext<'_>) -> &LoopState {
        let bees = context.bees();
        let state = self.state.get_or_init(|| Box::new(LoopState::new(bees.max(context.team().bees()))));
        assert!(
            bees as usize <= state.bees(),
            "this loop was first run by a hive of {} bees, and cannot be run by a team of {bees}: make another Loop for that",
            state.bees(),
        );
        state
    }
}

/// Chunks put together, where there are more than can be numbered.
struct UnitMap {
    chunks: usize,
    /// Chunks a unit.
    chunks_per_unit: usize,
    count: usize,
}

impl UnitMap {
    fn new(chunks: usize, max_units: usize) -> Self {
        let chunks_per_unit = chunks.div_ceil(max_units).max(1);
        Self { chunks, chunks_per_unit, count: chunks.div_ceil(chunks_per_unit) }
    }

    /// The chunks of some units.
    #[inline(always)]
    fn chunks_of(&self, units: Range<usize>) -> Range<usize> {
        units.start * self.chunks_per_unit..units.end.saturating_mul(self.chunks_per_unit).min(self.chunks)
    }
}

/// Contiguous blocks, one a bee.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    start: usize,
    end: usize,
    multiple: usize,
}

impl Blocks {
    /// Of `range`, beginning at multiples of `multiple`.
    pub(crate) fn new(range: Range<usize>, multiple: usize) -> Self {
        Self { start: range.start, end: range.end, multiple }
    }

    /// The `id`th of `count`.
    #[inline]
    pub(crate) fn of(self, id: usize, bees: usize) -> Range<usize> {
        let range = self.start..self.end;
        if self.multiple == 1 {
            return split::block(range, id, bees);
        }
        let chunks = Chunks::new(&range, self.multiple, self.multiple);
        chunks.indices(split::block(0..chunks.count(), id, bees))
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { range, schedule, multiple, min_work, state: _, only_round: _ } = self;
        let mut lines = f.debug_struct("Loop");
        lines
            .field("range", range)
            .field("schedule", schedule)
            .field("multiple", multiple)
            .field("min_work", min_work)
            .finish()
    }
}

impl Bee<'_> {
    /// Runs this bee's part of `shared`: calls `body` with one range of indices after the other, until there are none left. The ranges of all bees together are the loop's, each index once.
    ///
    /// A range is a block or a chunk, as the schedule has it; its indices rise from one call to the next, except after what has been taken from others. Returns when no indices are left to be had: other bees
    /// may still be at theirs, so there has to be a [`barrier_shape`](Self::barrier) before what they wrote is read, as after OpenMP's `nowait`.
    ///
    /// If `body` panics, and the panic is caught inside the region, some of the other indices of that run may be left out as well; later runs are complete again.
    ///
    /// All bees must run it equally often in a region. A loop may be run again, in the same region and in later ones, but by one team at a time: it has to be
    /// made outside the region. (One that each bee makes for itself is run by each bee alone.)
    ///
    /// Bees need not keep together: one may run it any number of times before another has begun. Nobody waits for
    /// another, but at the end of a run for what that one has claimed in the same run and may give back.
    ///
    /// # Panics
    /// If the team is larger than the hive was when the loop was run first.
    #[inline]
    #[track_caller]
    pub fn for_each(&self, shared: &Loop, mut body: impl FnMut(Range<usize>)) {
        shared.run(self.context, &mut body);
    }

    /// As [`split`](Self::split), with blocks that begin at multiples of `multiple`, except where `range` itself begins: see [`Loop::aligned`].
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
