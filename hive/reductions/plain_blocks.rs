//! A reduction over a range that is divided by `Static`: each bee reduces one block of it, and the caller combines what
//! comes out in the order of the blocks. If all workers are asleep, the caller runs a short one by itself.
//!
//! If the reduction is unordered and known to be long, and all workers have to be woken for it, it is handed out in
//! smaller parts: whoever is there then leaves less to those that come late. The result may depend on who has run what.

#![expect(unsafe_code, reason = "each bee writes its own result without a lock")]

use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::Loop;
use crate::pool::handle::Hive;
use crate::pool::lone_parts::{LoopInParts, RunAlone};
use crate::pool::loop_costs::{LoopKind, LoopSize, Sharing};
use crate::pool::run_parts::LoopWork;
use crate::protocol::region::body::{BodyFn, RegionBody};
use crate::protocol::region::region_context::RegionContext;
use crate::region::no_double_panic::{NoDoublePanic, add_to};
use crate::region::results::{self, ResultWriter};
use crate::region::{nesting, split};
use crate::sys::fork::with_abort_in_child;

/// How long a block takes on one thread, if the range is handed out. The bees end the loop no farther apart than that.
/// A bee gets several blocks at a time, and calls `map` once for these, so the calls remain few.
const NANOS_PER_BLOCK: u64 = 4_000;

/// Into how many blocks the range is cut for each bee at most, if they take longer than that.
const MAX_BLOCKS_PER_BEE: usize = 64;

/// What has been combined. None: that was no index.
type Partial<V> = Option<NoDoublePanic<V>>;

/// The reduction in blocks. It holds all that the bees need in one piece, so that it fits into the start line.
pub(super) struct PlainBlocks<'r, V, M> {
    slots: ResultWriter<'r, Partial<V>>,
    range: Range<usize>,
    map: M,
}

impl<V: Send, M: Fn(Range<usize>) -> V + Sync> RegionBody for PlainBlocks<'_, V, M> {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        true
    }

    #[inline]
    fn run(&self, context: &RegionContext<'_>) {
        let of_part = |part, parts| map_nonempty(split::block(self.range.clone(), part, parts), &self.map);
        nesting::within_region(context, || {
            // SAFETY: a region has exactly one bee of each number below its size, every one of them calls this once and
            // first of all, and the team has as many bees as there are slots, or one. The region ends before the
            // function that `take_results` calls does.
            unsafe { self.slots.write_parts(context.id as usize, context.bees as usize, of_part) };
        });
    }
}

impl Hive {
    /// Combines what `map` returns for the blocks of `range`, one for each bee of a team of `bees`, in their order. If
    /// `may_be_handed_out`, the range may be cut otherwise, and combined in any order. None: the range is empty.
    #[inline]
    #[track_caller]
    pub(super) fn reduce_plain_blocks<V: Send, M: Fn(Range<usize>) -> V + Sync>(
        &self,
        bees: usize,
        range: Range<usize>,
        op: &(impl Fn(V, V) -> V + Sync),
        map: M,
        may_be_handed_out: bool,
    ) -> Option<V> {
        let mut sum = None;
        let key = BodyFn::of::<PlainBlocks<'_, V, M>>().hash();
        let sharing = if may_be_handed_out { Sharing::AsTheyCome } else { Sharing::EqualParts };
        let work = LoopInParts { parts: bees, bees, size: LoopSize { body: key, indices: range.len(), sharing } };
        let alone = self.shared.run_parts_alone(work, |number, context| {
            let block = split::block(range.clone(), number, bees);
            // Which thread runs a block is not promised, so a forked child fares as it does in a worker.
            let partial = with_abort_in_child(|| nesting::within_region(context, || map_nonempty(block, &map)));
            add_to(&mut sum, partial, op);
        });
        let (done, is_handed_out) = match alone {
            RunAlone::HandOut => (0, true),
            RunAlone::Parts(done) => (done, done > 0 && may_be_handed_out),
        };
        // The blocks that are left are as long as if the range were only these and each bee had one of them.
        let left = split::blocks(range, done..bees, bees);
        if done < bees && !is_handed_out {
            // Each bee of a team has one.
            let bees = bees - done;
            let run = |slots: ResultWriter<'_, Partial<V>>| {
                let (indices, kind) = (left.len(), LoopKind::Anonymous(Sharing::EqualParts));
                self.run_loop_body(bees, indices, kind, &mut PlainBlocks { slots, range: left, map });
            };
            // Room for no more results than there can be bees: a loop on more bees is refused, and writes none.
            results::take_results(bees.min(self.max_bees()), run, |partial| add_to(&mut sum, partial, op));
        } else {
            if done < bees {
                self.hand_out((bees, left), key, op, &map, &mut sum);
            }
            // Before the sum is unwrapped: the sum is dropped if dropping the closure panics.
            drop(map);
        }
        sum.map(NoDoublePanic::into_inner)
    }

    /// Does the same in smaller blocks, which go to the bees as they come. `key`: of the loop in the table of costs. A
    /// program has this once for each type of values, since a block is long beside a call through a pointer.
    #[cold]
    #[track_caller]
    fn hand_out<V: Send>(
        &self,
        (bees, range): (usize, Range<usize>),
        key: u64,
        op: &(dyn Fn(V, V) -> V + Sync),
        map: &(dyn Fn(Range<usize>) -> V + Sync),
        sum: &mut Partial<V>,
    ) {
        let indices = range.len();
        let size = LoopSize { body: key, indices, sharing: Sharing::AsTheyCome };
        let blocks = self.shared.loop_costs.expected(size).unwrap_or(0) / NANOS_PER_BLOCK;
        let count = indices.min((blocks as usize).clamp(bees, bees.saturating_mul(MAX_BLOCKS_PER_BEE)));
        let block = |number| split::block(range.clone(), number, count);
        let map_blocks = |numbers: Range<usize>| map(block(numbers.start).start..block(numbers.end - 1).end);
        let kind = LoopKind::KnownBy(key, Sharing::AsTheyCome);
        let work = LoopWork { indices, kind, is_planned: false };
        let partial = self.reduce_by_schedule(Loop::new(0..count, Schedule::Affinity), bees, work, &op, map_blocks);
        add_to(sum, partial.map(NoDoublePanic::new), op);
    }
}

/// What `map` returns for `range`. None: the range is empty.
fn map_nonempty<T>(range: Range<usize>, map: impl Fn(Range<usize>) -> T) -> Partial<T> {
    (!range.is_empty()).then(|| NoDoublePanic::new(map(range)))
}
