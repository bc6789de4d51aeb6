//! A loop that the members of a team run together.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use super::board::{Board, Kind};
use super::body::Body;
use super::grain::Grain;
use super::queue::{self, factoring, guided};
use super::schedule::Schedule;
use super::share;
use super::spare;
use super::walk::Walk;
use super::words::Words;
use crate::crew::Member;
use crate::region::Bee;
use crate::split;

/// A loop over a range of indices that a team runs together: which indices there are, and how they are dealt out. [`Bee::for_each`] runs it inside a
/// region; [`Hive::par_for`](crate::Hive::par_for) is a region and a loop in one.
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
    board: OnceLock<Box<Board>>,
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
        assert!(schedule.chunk() > 0, "{schedule:?}: a chunk has at least one index");
        Self { range, schedule, multiple: 1, min_work: 1, board: OnceLock::new(), only_round: None }
    }

    /// Has blocks and chunks begin at multiples of `multiple` indices, except where the range itself begins, so that no two members write to the same cache line or vector:
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

    /// Has only so many members take part that each has at least `indices` to do: for loops that may be too short to be worth a team.
    ///
    /// In [`par_loop`](crate::Hive::par_loop) the team is made as small as that; one of a single member is the caller, and costs a function call. In a region the other members
    /// have nothing to do.
    ///
    /// ```
    /// use hive::{Loop, Schedule};
    ///
    /// let hive = hive::Hive::new(4)?;
    /// hive.par_loop(Loop::new(0..1500, Schedule::Static).min_work(1000), |range, bee| assert_eq!((bee.count(), range), (1, 0..1500)));
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
    pub(super) fn blocks(&self) -> Option<Blocks> {
        (self.schedule == Schedule::Static).then(|| self.all_blocks())
    }

    fn all_blocks(&self) -> Blocks {
        Blocks::new(self.range(), self.multiple)
    }

    /// How many of a team of `team` have something to do.
    pub(super) fn members(&self, team: usize) -> usize {
        (self.range.len() / self.min_work).clamp(1, team)
    }

    /// Runs the part of `member`.
    #[inline]
    pub(crate) fn run(&self, member: &Member<'_>, body: &mut impl Body) {
        let (id, members) = (member.id() as usize, self.members(member.team() as usize));
        match self.schedule {
            Schedule::Static if id < members => {
                let block = self.all_blocks().of(id, members);
                if !block.is_empty() {
                    body.range(block);
                }
            }
            Schedule::StaticChunk(chunk) if id < members => {
                let grain = Grain::new(&self.range, chunk, self.multiple);
                (id..grain.count()).step_by(members).for_each(|i| body.range(grain.span(i..i + 1)));
            }
            Schedule::Static | Schedule::StaticChunk(_) => {}
            _ if member.team() == 1 => {
                let grain = Grain::new(&self.range, self.chunk_alone(), self.multiple);
                self.each(&grain, 0..grain.count(), body);
            }
            _ => self.share_out(member, members, body),
        }
    }

    /// Runs `region`, which is to be a region of as many of `most` members as the loop is for, in which each runs its part once.
    pub(crate) fn in_region<R>(mut self, most: usize, region: impl FnOnce(&Self, usize) -> R) -> R {
        let team = self.members(most);
        let kind = match self.schedule {
            Schedule::Static | Schedule::StaticChunk(_) => return region(&self, team),
            _ if team == 1 => return region(&self, team),
            Schedule::Dynamic(_) | Schedule::Affinity => Kind::Shares,
            Schedule::Guided(_) | Schedule::Factoring => Kind::Queue,
        };
        let (board, round) = spare::take(kind, team as u32);
        self.only_round = Some(round);
        self.board = OnceLock::from(board);
        let result = region(&self, team);
        // Not after a panic, when not all have been through the round; nor where the region was nested, and its only member had no use for a board.
        if let Some(board) = self.board.into_inner().filter(|board| board.has_been_through(kind, round)) {
            spare::keep(kind, board, round);
        }
        result
    }

    /// The chunks that a member gets when there is nobody to share with.
    fn chunk_alone(&self) -> usize {
        match self.schedule {
            Schedule::Dynamic(chunk) => chunk,
            _ => usize::MAX,
        }
    }

    /// Runs the part of `member` where chunks go to whoever comes for them.
    fn share_out(&self, member: &Member<'_>, members: usize, body: &mut impl Body) {
        let board = self.board(member);
        let (words, round) = match self.only_round {
            Some(round) => (board.only_words(), round),
            None => board.begin_round(member),
        };
        if member.id() as usize >= members {
            return;
        }
        match self.schedule {
            Schedule::Dynamic(_) | Schedule::Affinity => self.walk(words, member, round, members, body),
            _ => self.line_up(words, round, members, body),
        }
    }

    /// Shares of units, one a member.
    fn walk(&self, words: &Words, member: &Member<'_>, round: u16, members: usize, body: &mut impl Body) {
        let grain = Grain::new(&self.range, self.schedule.chunk(), self.multiple);
        let units = Units::new(grain.count(), share::MOST_UNITS);
        let walk = Walk { words, member, round, members, units: units.count as u32 };
        let chunks = |some: Range<u32>| units.chunks(some.start as usize..some.end as usize);
        if self.schedule == Schedule::Affinity {
            walk.in_parts(|part| body.range(grain.span(chunks(part))));
        } else {
            walk.one_by_one(|some| self.each(&grain, chunks(some), body));
        }
    }

    /// Some chunks, each by itself.
    #[inline]
    fn each(&self, grain: &Grain, chunks: Range<usize>, body: &mut impl Body) {
        if self.schedule == Schedule::Dynamic(1) && self.multiple == 1 {
            // The compiler sees that each range is one index.
            body.one_by_one(grain.span(chunks));
        } else {
            chunks.for_each(|i| body.range(grain.span(i..i + 1)));
        }
    }

    /// One queue of units for all.
    fn line_up(&self, words: &Words, round: u16, members: usize, body: &mut impl Body) {
        let grain = Grain::new(&self.range, 1, self.multiple);
        let units = Units::new(grain.count(), queue::MOST_UNITS);
        let least = self.schedule.chunk().div_ceil(self.multiple).div_ceil(units.size);
        let amount = |next| match self.schedule {
            Schedule::Guided(_) => guided(next, units.count, members, least),
            _ => factoring(next, units.count, members),
        };
        while let Some(taken) = words.queue().take(round, units.count, amount) {
            body.range(grain.span(units.chunks(taken)));
        }
    }

    #[track_caller]
    fn board(&self, member: &Member<'_>) -> &Board {
        let team = member.team();
        let board = self.board.get_or_init(|| Box::new(Board::new(team.max(member.crew().bees()))));
        assert!(
            team as usize <= board.members(),
            "this loop was first run by a hive of {} members, and cannot be run by a team of {team}: make another Loop for that",
            board.members(),
        );
        board
    }
}

/// Chunks put together, where there are more than can be numbered.
struct Units {
    chunks: usize,
    /// Chunks a unit.
    size: usize,
    count: usize,
}

impl Units {
    fn new(chunks: usize, most: usize) -> Self {
        let size = chunks.div_ceil(most).max(1);
        Self { chunks, size, count: chunks.div_ceil(size) }
    }

    /// The chunks of some units.
    #[inline(always)]
    fn chunks(&self, units: Range<usize>) -> Range<usize> {
        units.start * self.size..units.end.saturating_mul(self.size).min(self.chunks)
    }
}

/// Contiguous blocks, one a member.
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
    pub(crate) fn of(self, id: usize, count: usize) -> Range<usize> {
        let range = self.start..self.end;
        if self.multiple == 1 {
            return split::block(range, id, count);
        }
        let grain = Grain::new(&range, self.multiple, self.multiple);
        grain.span(split::block(0..grain.count(), id, count))
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { range, schedule, multiple, min_work, board: _, only_round: _ } = self;
        let mut lines = f.debug_struct("Loop");
        lines.field("range", range).field("schedule", schedule).field("multiple", multiple).field("min_work", min_work).finish()
    }
}

impl Bee<'_> {
    /// Runs this member's part of `shared`: calls `body` with one range of indices after the other, until there are none left. The ranges of all members together are the loop's, each index once.
    ///
    /// A range is a block or a chunk, as the schedule has it; its indices rise from one call to the next, except after what has been taken from others. Returns when no indices are left to be had: other members
    /// may still be at theirs, so there has to be a [`barrier`](Self::barrier) before what they wrote is read, as after OpenMP's `nowait`.
    ///
    /// If `body` panics, and the panic is caught inside the region, some of the other indices of that run may be left out as well; later runs are complete again.
    ///
    /// All members must run it equally often in a region. A loop may be run again, in the same region and in later ones, but by one team at a time: it has to be
    /// made outside the region. (One that each member makes for itself is run by each member alone.)
    ///
    /// Members need not keep together: one may run it any number of times before another has begun. Nobody waits for
    /// another, but at the end of a run for what that one has claimed in the same run and may give back.
    ///
    /// # Panics
    /// If the team is larger than the hive was when the loop was run first.
    #[inline]
    #[track_caller]
    pub fn for_each(&self, shared: &Loop, mut body: impl FnMut(Range<usize>)) {
        shared.run(self.member, &mut body);
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
        Blocks::new(range, multiple).of(self.id(), self.count())
    }
}
