//! A reduction by a plan.

use std::ops::Range;

use super::level::Level;
use super::level::sealed::Cut;
use super::par_reduce::combine;
use super::reduction::Reduction;
use super::tree::{self, Nodes};
use crate::hive::Hive;
use crate::loops::Schedule;
use crate::memory::Plan;
use crate::quiet::Quiet;
use crate::split;

impl Hive {
    /// As [`par_reduce`](Self::par_reduce) over the indices of `plan`, of which each member gets those that it owns. A [`Fixed`](crate::Fixed) reduction has blocks of its own, and the same
    /// result as with `par_reduce`, bit by bit: each member gets about those that lie in what it owns.
    ///
    /// ```
    /// use hive::{Placement, Reduction};
    ///
    /// let hive = hive::Hive::new(2)?;
    /// let plan = hive.plan(100_000);
    /// let x = hive.alloc(plan.len(), Placement::LikeLoop(&plan), |i| 1.0 / (i + 1) as f64);
    /// let sum = hive.par_reduce_plan(&plan, &Reduction::fixed(0.0, |a, b| a + b), |range| x[range].iter().sum::<f64>());
    /// assert!((sum - 12.090_146_129_863).abs() < 1e-9);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), for as many members as the plan is for.
    #[track_caller]
    pub fn par_reduce_plan<L, T, F, M>(&self, plan: &Plan, reduction: &Reduction<L, T, F>, map: M) -> T
    where
        L: Level,
        T: Clone + Send,
        F: Fn(T, T) -> T + Sync,
        M: Fn(Range<usize>) -> T + Sync,
    {
        let cut = reduction.cut(&(0..plan.len()), Schedule::Static, plan.members());
        let (op, map) = (&reduction.op, Quiet::new(map));
        let result = if tree::is_large::<T>() {
            self.reduce_by_plan(plan, cut, &tree::boxed(op), |range| Box::new(map(range))).map(|value| *value)
        } else {
            self.reduce_by_plan(plan, cut, op, &*map)
        };
        result.unwrap_or_else(|| reduction.neutral.clone())
    }

    /// What `map` returns for the parts of a plan's indices, cut as `cut` says, combined. None: there are none.
    #[track_caller]
    fn reduce_by_plan<V: Send>(
        &self,
        plan: &Plan,
        cut: Cut,
        op: &(impl Fn(V, V) -> V + Sync),
        map: impl Fn(Range<usize>) -> V + Sync,
    ) -> Option<V> {
        match cut {
            Cut::Blocks(blocks) => {
                let parts = self.spmd_map(plan.members(), |bee| {
                    let mut nodes = Nodes::new();
                    let own = split::block(0..blocks, bee.id(), bee.count());
                    tree::collect(&mut nodes, own, op, |block| map(split::block(0..plan.len(), block, blocks)));
                    nodes
                });
                tree::combine_all(parts.into_iter(), op)
            }
            Cut::Team | Cut::AsItComes => {
                let add = |sum: Quiet<V>, value: Quiet<V>| Quiet::new(op(sum.into_inner(), value.into_inner()));
                let value = |range| Quiet::new(map(range));
                let parts = self.spmd_map(plan.members(), |bee| plan.ranges_for(bee.id(), bee.count()).map(value).reduce(add));
                combine(parts, op)
            }
        }
    }
}
