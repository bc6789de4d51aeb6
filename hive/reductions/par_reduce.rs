//! A region, a loop and a reduction in one call: `Hive::par_reduce`. The bees reduce their parts in a region; the
//! calling thread combines the bees' results after it.

use std::ops::Range;

use crate::loops::range_body::ReduceBody;
use crate::loops::schedule::Schedule;
use crate::loops::shared_loop::{IntoLoop, Loop};
use crate::pool::handle::Hive;
use crate::pool::lone_parts::{LoopInParts, RunAlone};
use crate::pool::loop_costs::{LoopKind, LoopSize, Sharing};
use crate::pool::run_parts::LoopWork;
use crate::protocol::region::body::BodyFn;
use crate::protocol::region::region_context::RegionContext;
use crate::reductions::block_tree::{self, Nodes};
use crate::reductions::plain_blocks::PlainBlocks;
use crate::reductions::reduction::{Cut, Reduction, Reproducibility};
use crate::region::bee::Bee;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::{nesting, split};
use crate::sys::fork::with_abort_in_child;

/// In so many parts, at most, the caller of a deterministic reduction runs it by herself.
const MOST_PARTS_ALONE: usize = 8;

impl Hive {
    /// Combines what `map` returns for parts of a loop, which all [`bees`](Self::bees) of the hive share out.
    ///
    /// `work` is what [`par_for`](Self::par_for) takes: a range, a range and a
    /// [`Schedule`](crate::loops::schedule::Schedule), a [`Loop`] or a [`Plan`](crate::memory::plan::Plan). `map` is
    /// called for contiguous parts of its range, each index in exactly one of them; `reduction` says how the results
    /// are combined and how reproducible that is. As in [`par_for`](Self::par_for), a bee that is done stands in for
    /// workers that are asleep or busy, which changes nothing in the result; and where another thread keeps the hive
    /// busy or the workers would have to be woken first, the calling thread may run all of a short loop by itself, at
    /// once. A long loop by `Static` for which workers have to be woken may be handed out in smaller parts, unless the
    /// reduction is [`PerTeamSize`](crate::reductions::reduction::PerTeamSize): so `map` may be called more than
    /// once for each bee. An empty range gives the reduction's identity. The results may borrow and need not be `Copy`,
    /// unlike those of [`par_scan`](Self::par_scan) and of
    /// [`Bee::reduce_over`](crate::region::bee::Bee::reduce_over).
    ///
    /// A [`Deterministic`](crate::reductions::reduction::Deterministic) reduction cuts the range into blocks of
    /// its own, so that the result is bit by bit the same whatever the loop's schedule, alignment or plan; each bee
    /// gets about the blocks that lie in what it would run otherwise.
    ///
    /// ```
    /// use hive::Reduction;
    ///
    /// let (x, y) = (vec![1.0; 5000], vec![2.0; 5000]);
    /// let dot = hive::par_reduce(0..5000, &Reduction::per_team_size(0.0, |a, b| a + b), |range| {
    ///     x[range.clone()].iter().zip(&y[range]).map(|(x, y)| x * y).sum()
    /// });
    /// assert_eq!(dot, 10_000.0);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), and if the schedule asks for chunks of 0 indices.
    #[track_caller]
    #[doc(alias("reduction", "sum", "fold", "par_iter", "omp reduction"))]
    pub fn par_reduce<L, T, F, M>(&self, work: impl IntoLoop, reduction: &Reduction<L, T, F>, map: M) -> T
    where
        L: Reproducibility,
        T: Clone + Send,
        F: Fn(T, T) -> T + Sync,
        M: Fn(Range<usize>) -> T + Sync,
    {
        // The closures below own what they need, so that it lies in one piece: each piece that the bees read is a
        // transfer between cores.
        let (op, map) = (&reduction.op, NoDoublePanic::new(map));
        let shared = work.into();
        let bees = shared.team_size(self.bees());
        let cut = reduction.cut(&shared.range(), shared.spec.schedule, bees);
        let result = if block_tree::is_large::<T>() {
            // Large values go through the reduction in boxes.
            let map = move |range| Box::new(map(range));
            self.reduce_loop::<L, _>(shared, (cut, bees), &block_tree::boxed(op), map).map(|value| *value)
        } else {
            self.reduce_loop::<L, _>(shared, (cut, bees), op, move |range| (*map)(range))
        };
        result.unwrap_or_else(|| reduction.identity.clone())
    }

    /// Combines what `map` returns for the parts of the loop's range, cut as `cut` says, on a team of `bees`. None: the
    /// range is empty.
    #[inline]
    #[track_caller]
    fn reduce_loop<L: Reproducibility, V: Send>(
        &self,
        shared: Loop,
        (cut, bees): (Cut, usize),
        op: &(impl Fn(V, V) -> V + Sync),
        map: impl Fn(Range<usize>) -> V + Sync,
    ) -> Option<V> {
        if L::CUTS_INTO_BLOCKS {
            if let Cut::Blocks(blocks) = cut {
                return self.reduce_blocks(&shared, (blocks, bees), op, map);
            }
        }
        if !L::CUTS_OTHERWISE {
            unreachable!("{cut:?}");
        }
        // One contiguous block for each bee, combined in order of the bees.
        if let Some(range) = shared.range_in_plain_blocks() {
            // Nothing of the loop is needed any more; dropped here, it costs nothing.
            drop(shared);
            return self.reduce_plain_blocks(bees, range, op, map, cut == Cut::BySchedule);
        }
        // Each bee combines the ranges that the loop gives it, in the order in which it gets them. If each bee has a
        // part of its own, the result depends on the parts.
        let kind = if cut == Cut::OnePerBee { LoopKind::OfBees } else { LoopKind::Anonymous };
        let work = shared.work(shared.range().len(), kind);
        self.reduce_by_schedule(shared, bees, work, op, map)
    }

    /// Does the same as the loop's schedule has it: each bee combines the ranges that it gets.
    #[inline]
    #[track_caller]
    pub(super) fn reduce_by_schedule<V: Send>(
        &self,
        mut shared: Loop,
        bees: usize,
        work: LoopWork,
        op: &(impl Fn(V, V) -> V + Sync),
        map: impl Fn(Range<usize>) -> V + Sync,
    ) -> Option<V> {
        let accumulate = move |shared: &Loop, bee: &Bee<'_>| {
            let mut partial = ReduceBody { value: None, map: &map, op };
            shared.run(None, &bee.context, &mut partial);
            partial.value
        };
        let bees = shared.take_words(bees);
        let results = self.map_parts(bees, work, |bee| accumulate(&shared, bee));
        shared.put_words_back();
        // Before there is a result, which would be lost if dropping the closure panics.
        drop(accumulate);
        // In order of the bees. If `op` panics, the results that are left are dropped without a second panic.
        results.into_iter().flatten().map(NoDoublePanic::into_inner).reduce(op)
    }

    /// Does the same in `blocks` blocks, which are combined along the fixed tree. The caller runs a short loop by
    /// herself, and the team what she leaves.
    #[track_caller]
    fn reduce_blocks<V: Send, M: Fn(Range<usize>) -> V + Sync>(
        &self,
        shared: &Loop,
        (blocks, bees): (usize, usize),
        op: &(impl Fn(V, V) -> V + Sync),
        map: M,
    ) -> Option<V> {
        let (range, key) = (shared.range(), BodyFn::of::<PlainBlocks<'_, V, M>>().hash());
        let size = LoopSize { body: key, indices: range.len(), sharing: Sharing::AsTheyCome };
        let bees = bees.min(blocks.max(1));
        // She looks at the time after each part.
        let parts = bees.min(MOST_PARTS_ALONE);
        let (mut nodes, cut) = (Nodes::new(), split::Blocks::of(&range, blocks));
        let run_part = |part, context: &RegionContext<'_>| {
            let own = split::block(0..blocks, part, parts);
            let push = || nodes.push_blocks(own, op, |block| map(cut.get(block)));
            with_abort_in_child(|| nesting::within_region(context, push));
        };
        // A plan's blocks are left to their owners.
        let alone = match shared.spec.owners {
            0 => self.shared.run_parts_alone(LoopInParts { parts, bees, size }, run_part),
            _ => RunAlone::Parts(0),
        };
        let left = match alone {
            RunAlone::Parts(done) if done < parts => split::block(0..blocks, done, parts).start..blocks,
            RunAlone::HandOut => 0..blocks,
            RunAlone::Parts(_) => {
                drop(map);
                return nodes.combine(op);
            }
        };
        let has_begun = left.start > 0;
        let as_they_come = matches!(alone, RunAlone::HandOut);
        let mut all = self.reduce_blocks_on_team(shared, (key, as_they_come), (left, blocks, bees), op, map);
        if has_begun {
            all.push(nodes);
        }
        block_tree::combine_all(all, op)
    }

    /// Runs the blocks `left` of `blocks` in a loop. Returns what each bee has combined of them. `key`: of the loop in
    /// the table of costs. `as_they_come`: whether it is known that workers who are all asleep have to be woken.
    #[inline]
    #[track_caller]
    fn reduce_blocks_on_team<V: Send>(
        &self,
        shared: &Loop,
        (key, as_they_come): (u64, bool),
        (left, blocks, bees): (Range<usize>, usize, usize),
        op: &(impl Fn(V, V) -> V + Sync),
        map: impl Fn(Range<usize>) -> V + Sync,
    ) -> Vec<Nodes<V>> {
        let (range, cut) = (shared.range(), split::Blocks::of(&shared.range(), blocks));
        let indices = split::blocks(range.clone(), left.clone(), blocks.max(1)).len();
        let size = LoopSize { body: key, indices, sharing: Sharing::AsTheyCome };
        // The result is the same whichever bee runs a block. So if the workers have to be woken, those that are there
        // need not leave to a latecomer what is its part by `Static`.
        let must_wake = || as_they_come || self.shared.is_to_wake_for(bees.min(left.len()), size);
        let schedule = if shared.is_in_blocks() && must_wake() {
            Schedule::Affinity
        } else {
            // The user's chunk lengths are numbers of indices, and this loop runs over blocks.
            shared.spec.schedule.in_units_of(range.len() / blocks.max(1))
        };
        let work = shared.work(indices, |_| LoopKind::KnownBy(key, schedule.sharing()));
        let collect_nodes = move |shared: &Loop, bee: &Bee<'_>| {
            let mut nodes = Nodes::new();
            let map_block = |block| map(cut.get(block));
            shared.run(None, &bee.context, &mut |numbers| nodes.push_blocks(numbers, op, map_block));
            nodes
        };
        let mut loop_over_blocks = Loop::new(left, schedule);
        let bees = loop_over_blocks.take_words(bees);
        let results = self.map_parts(bees, work, |bee| collect_nodes(&loop_over_blocks, bee));
        loop_over_blocks.put_words_back();
        // Here, because a result that is being returned would be lost if dropping the closure panics.
        drop(collect_nodes);
        results
    }
}
