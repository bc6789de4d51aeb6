//! A reduction over the indices of a plan, as a region of its own: `Hive::par_reduce_plan`. Each bee reduces the
//! indices that it owns by the plan; the calling thread combines the bees' results after the region.

use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::memory::plan::Plan;
use crate::pool::handle::Hive;
use crate::reductions::block_tree;
use crate::reductions::block_tree::Nodes;
use crate::reductions::par_reduce::combine_in_order;
use crate::reductions::reduction::Reduction;
use crate::reductions::reproducibility::Reproducibility;
use crate::reductions::reproducibility::sealed::Cut;
use crate::region::no_double_panic::NoDoublePanic;
use crate::region::split;

impl Hive {
    /// Like [`par_reduce`](Self::par_reduce) over the indices of `plan`, where each bee reduces the indices that it
    /// owns. A [`Deterministic`](crate::reductions::reproducibility::Deterministic) reduction cuts the indices into
    /// blocks of its own, so that its result is bit by bit that of `par_reduce`; each bee gets about the blocks that
    /// lie in what it owns.
    ///
    /// ```
    /// use hive::{Placement, Reduction};
    ///
    /// let hive = hive::Hive::new(2)?;
    /// let plan = hive.plan(100_000);
    /// let x = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |i| 1.0 / (i + 1) as f64);
    /// let sum = Reduction::deterministic(0.0, |a, b| a + b);
    /// let sum = hive.par_reduce_plan(&plan, &sum, |range| x[range].iter().sum::<f64>());
    /// assert!((sum - 12.090_146_129_863).abs() < 1e-9);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd) for as many bees as the plan has.
    #[track_caller]
    pub fn par_reduce_plan<L, T, F, M>(&self, plan: &Plan, reduction: &Reduction<L, T, F>, map: M) -> T
    where
        L: Reproducibility,
        T: Clone + Send,
        F: Fn(T, T) -> T + Sync,
        M: Fn(Range<usize>) -> T + Sync,
    {
        let cut = reduction.cut(&(0..plan.len()), Schedule::Static, plan.bees());
        let (op, map) = (&reduction.op, NoDoublePanic::new(map));
        // Large values go through the reduction in boxes.
        let result = if block_tree::is_large::<T>() {
            self.reduce_by_plan(plan, cut, &block_tree::boxed(op), |range| Box::new(map(range))).map(|value| *value)
        } else {
            self.reduce_by_plan(plan, cut, op, &*map)
        };
        result.unwrap_or_else(|| reduction.identity.clone())
    }

    /// Combines what `map` returns for the parts of the plan's indices, cut as `cut` says. None: the plan has no
    /// indices.
    #[track_caller]
    fn reduce_by_plan<V: Send>(
        &self,
        plan: &Plan,
        cut: Cut,
        op: &(impl Fn(V, V) -> V + Sync),
        map: impl Fn(Range<usize>) -> V + Sync,
    ) -> Option<V> {
        match cut {
            // The reduction's own blocks. A contiguous run of them goes to each bee, about where its own indices are.
            Cut::Blocks(blocks) => {
                let results = self.spmd_map(plan.bees(), |bee| {
                    let mut nodes = Nodes::new();
                    let own = split::block(0..blocks, bee.id(), bee.bees());
                    block_tree::push_blocks(&mut nodes, own, op, |block| {
                        map(split::block(0..plan.len(), block, blocks))
                    });
                    nodes
                });
                block_tree::combine_all(results.into_iter(), op)
            }
            // Each bee combines the blocks that it runs by the plan: one, or several in a team that is smaller than the
            // plan.
            Cut::OnePerBee | Cut::BySchedule => {
                let add = |sum: NoDoublePanic<V>, value: NoDoublePanic<V>| {
                    NoDoublePanic::new(op(sum.into_inner(), value.into_inner()))
                };
                let value = |range| NoDoublePanic::new(map(range));
                let results =
                    self.spmd_map(plan.bees(), |bee| plan.ranges_for(bee.id(), bee.bees()).map(value).reduce(add));
                combine_in_order(results, op)
            }
        }
    }
}
