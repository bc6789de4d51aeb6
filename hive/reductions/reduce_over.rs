//! A reduction over a range inside a region: `Bee::reduce_over`. Each bee reduces its own part of the range; the bees
//! exchange their results at a barrier, and every bee combines them all in the same way.

use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::protocol::region::exchange_slots::Operation;
use crate::reductions::block_tree::{self, Node, Nodes};
use crate::reductions::of_those_there;
use crate::reductions::reduction::{Cut, Reduction, Reproducibility};
use crate::region::bee::Bee;
use crate::region::collective::{ByCopy, end_with};
use crate::region::split;

impl Bee<'_> {
    /// Combines what `map` returns for parts of `range`, and returns the result on all bees. Each bee reduces its
    /// [`part`](Reduction::part) of the range: a static loop and an [`all_reduce`](Self::all_reduce) in one, as
    /// reproducible as `reduction` says.
    ///
    /// All bees must call it, with the same range and reduction. The call is also a barrier.
    ///
    /// ```
    /// let sum = hive::Reduction::deterministic(0.0, |a, b| a + b);
    /// let x: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.1).collect();
    /// let norm_with = |bees| {
    ///     hive::spmd_map(bees, |bee| bee.reduce_over(0..1000, &sum, |range| x[range].iter().map(|x| x * x).sum()))[0]
    /// };
    /// assert_eq!(norm_with(3).to_bits(), norm_with(1).to_bits());
    /// ```
    ///
    /// # Panics
    /// As [`all_reduce`](Self::all_reduce).
    #[track_caller]
    #[doc(alias("reduction", "omp reduction"))]
    pub fn reduce_over<L, T, F>(
        &self,
        range: Range<usize>,
        reduction: &Reduction<L, T, F>,
        map: impl Fn(Range<usize>) -> T,
    ) -> T
    where
        L: Reproducibility,
        T: ByCopy,
        F: Fn(T, T) -> T,
    {
        let call = self.context.begin_call(Operation::ReduceOver);
        let op = &reduction.op;
        let result = match reduction.cut(&range, Schedule::Static, self.bees()) {
            // A contiguous run of blocks for each bee, combined along the fixed tree.
            Cut::Blocks(blocks) => {
                let own = split::block(0..blocks, self.id(), self.bees());
                let cut = split::Blocks::of(&range, blocks);
                if block_tree::is_large::<T>() {
                    self.sum_large(own, op, |i| map(cut.get(i)))
                } else {
                    self.sum_small(own, op, |i| map(cut.get(i)))
                }
            }
            // One contiguous block for each bee. A bee whose block is empty contributes nothing.
            Cut::OnePerBee | Cut::BySchedule => {
                let own = self.split(range);
                let own = (!own.is_empty()).then(|| map(own));
                self.all_reduce_as(Operation::ReduceOver, own, of_those_there(op))
            }
        };
        end_with(call, result.unwrap_or(reduction.identity))
    }

    /// Combines all blocks along the tree, on each bee. The calling bee computes the values of the blocks `own` by
    /// `leaf`, and gets the other nodes from the other bees.
    #[track_caller]
    fn sum_small<T: ByCopy>(&self, own: Range<usize>, op: &impl Fn(T, T) -> T, leaf: impl Fn(usize) -> T) -> Option<T> {
        let mut nodes = Nodes::new();
        nodes.push_blocks(own, op, leaf);
        self.nodes_of_all(nodes.as_slice(), op, |value| *value).unwrap_or(nodes).combine(op)
    }

    /// The same as `sum_small`, for values that are too large to have many of them on the stack.
    #[track_caller]
    fn sum_large<T: ByCopy>(&self, own: Range<usize>, op: &impl Fn(T, T) -> T, leaf: impl Fn(usize) -> T) -> Option<T> {
        let op = &block_tree::boxed(op);
        let mut nodes = Nodes::new();
        nodes.push_blocks(own, op, |block| Box::new(leaf(block)));
        // What a bee shows to the others must lie in one piece and must not contain boxes that it owns.
        let own: Vec<Node<T>> = nodes.as_slice().iter().map(|node| node.map(|value| **value)).collect();
        self.nodes_of_all(&own, op, |value| Box::new(*value)).unwrap_or(nodes).combine(op).map(|value| *value)
    }

    /// The nodes of all bees, combined as far as possible, with each value converted by `form`. The calling bee shows
    /// its own. None in a team of one bee, and where the barrier is broken in a destructor that must not panic: then
    /// there are only the own nodes to combine.
    #[track_caller]
    fn nodes_of_all<T: ByCopy, V>(
        &self,
        own: &[Node<T>],
        op: &impl Fn(V, V) -> V,
        form: impl Fn(&T) -> V,
    ) -> Option<Nodes<V>> {
        let slots = self.exchange(Operation::ReduceOver, None, own)?;
        let mut all = Nodes::new();
        for id in 0..self.context.bees {
            for index in 0..slots.count(id)? {
                all.push(slots.value(id, index)?.map(&form), op);
            }
        }
        Some(all)
    }
}
