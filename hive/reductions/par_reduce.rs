//! A region, a loop and a reduction in one call.

use std::ops::Range;

use super::level::Level;
use super::level::sealed::Cut;
use super::reduction::Reduction;
use super::tree::{self, Nodes};
use crate::hive::Hive;
use crate::loops::{Loop, Schedule, Sum};
use crate::quiet::Quiet;
use crate::region::Bee;
use crate::split;

impl Hive {
    /// Combines what `map` returns for parts of `range`, dealt out by `schedule` to all members that are awake.
    ///
    /// `map` is called for contiguous parts, each index in exactly one; `reduction` says how the results are combined and how reproducible that is. An empty range
    /// gives the neutral value. The results may borrow, and need not be `Copy`, as those of [`par_scan`](Self::par_scan) and of [`Bee::reduce_over`](crate::Bee::reduce_over).
    ///
    /// ```
    /// use hive::{Reduction, Schedule};
    ///
    /// let (x, y) = (vec![1.0; 5000], vec![2.0; 5000]);
    /// let dot = hive::par_reduce(0..5000, Schedule::Static, &Reduction::per_team(0.0, |a, b| a + b), |range| {
    ///     x[range.clone()].iter().zip(&y[range]).map(|(x, y)| x * y).sum()
    /// });
    /// assert_eq!(dot, 10_000.0);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd), and if the schedule asks for chunks of 0 indices.
    #[track_caller]
    pub fn par_reduce<L, T, F, M>(&self, range: Range<usize>, schedule: Schedule, reduction: &Reduction<L, T, F>, map: M) -> T
    where
        L: Level,
        T: Clone + Send,
        F: Fn(T, T) -> T + Sync,
        M: Fn(Range<usize>) -> T + Sync,
    {
        let members = range.len().clamp(1, self.bees());
        let cut = reduction.cut(&range, schedule, members);
        // Closures move what they capture, so that all of it lies in one piece: each piece is a transfer to the bees.
        let (op, map) = (&reduction.op, Quiet::new(map));
        let result = if tree::is_large::<T>() {
            let map = move |range| Box::new(map(range));
            self.reduce_range(range, schedule, (cut, members), &tree::boxed(op), map).map(|value| *value)
        } else {
            self.reduce_range(range, schedule, (cut, members), op, move |range| (*map)(range))
        };
        result.unwrap_or_else(|| reduction.neutral.clone())
    }

    /// What `map` returns for the parts of `range`, cut as `cut` says, combined. None: there are none.
    #[inline]
    #[track_caller]
    fn reduce_range<V: Send>(
        &self,
        range: Range<usize>,
        schedule: Schedule,
        (cut, members): (Cut, usize),
        op: &(impl Fn(V, V) -> V + Sync),
        map: impl Fn(Range<usize>) -> V + Sync,
    ) -> Option<V> {
        match cut {
            Cut::Team => {
                let parts = self.spmd_map(members, move |bee| part(split::block(range.clone(), bee.id(), bee.count()), &map));
                combine(parts, op)
            }
            Cut::AsItComes => {
                let sum_of = move |shared: &Loop, bee: &Bee<'_>| {
                    let mut sum = Sum { sum: None, map: &map, op };
                    shared.run(bee.member, &mut sum);
                    sum.sum
                };
                let parts =
                    Loop::new(range, schedule).in_region(members, |shared, team| self.spmd_map(team, |bee| sum_of(shared, bee)));
                combine(parts, op)
            }
            Cut::Blocks(blocks) => {
                // The schedule's chunks are counted in indices.
                let shared = Loop::new(0..blocks, schedule.in_units_of(range.len() / blocks.max(1)));
                let nodes_of = move |shared: &Loop, bee: &Bee<'_>| {
                    let mut nodes = Nodes::new();
                    bee.for_each(shared, |some| {
                        tree::collect(&mut nodes, some, op, |block| map(split::block(range.clone(), block, blocks)))
                    });
                    nodes
                };
                let parts = shared.in_region(members, |shared, team| self.spmd_map(team, |bee| nodes_of(shared, bee)));
                tree::combine_all(parts.into_iter(), op)
            }
        }
    }
}

fn part<T>(range: Range<usize>, map: impl Fn(Range<usize>) -> T) -> Option<Quiet<T>> {
    (!range.is_empty()).then(|| Quiet::new(map(range)))
}

/// The members' results combined, in their order. Those that are left when `op` panics are dropped quietly.
pub(super) fn combine<T>(parts: Vec<Option<Quiet<T>>>, op: impl Fn(T, T) -> T) -> Option<T> {
    parts.into_iter().flatten().map(Quiet::into_inner).reduce(op)
}
