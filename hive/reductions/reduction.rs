//! What a reduction combines values with, and how reproducibly.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::reductions::block_tree;
use crate::reductions::block_tree::{Node, Nodes};
use crate::reductions::reproducibility::sealed::Cut;
use crate::reductions::reproducibility::{Deterministic, PerTeamSize, Reproducibility, Unordered};
use crate::region::split;

/// Blocks of a [`Deterministic`] reduction: enough for the largest teams to share out, few enough to cost nothing.
const DEFAULT_BLOCKS: usize = 256;

/// More would be a mistake, and cost more than they bring.
const MAX_BLOCKS: usize = 1 << 16;

/// How to combine the values of many indices into one: a neutral value, an operation, and in its type how reproducible the result is: [`Unordered`], [`PerTeamSize`] or [`Deterministic`].
///
/// `op` must be associative, but for rounding, and `identity` change nothing: `op(identity, x)` is `x`. It need not be commutative, except with `Unordered`.
///
/// ```
/// use hive::{Reduction, Schedule};
///
/// let x: Vec<f64> = (1..=100_000).map(|i| 1.0 / f64::from(i)).collect();
/// let sum = Reduction::deterministic(0.0, |a, b| a + b);
/// let with = |bees, schedule| {
///     let hive = hive::Hive::new(bees).unwrap();
///     hive.par_reduce(0..x.len(), schedule, &sum, |range| x[range].iter().sum())
/// };
/// assert_eq!(with(1, Schedule::Static).to_bits(), with(4, Schedule::Dynamic(3)).to_bits());
/// ```
#[derive(Clone, Copy)]
pub struct Reduction<L, T, F> {
    pub(crate) identity: T,
    pub(crate) op: F,
    blocks: usize,
    reproducibility: PhantomData<fn() -> L>,
}

impl<T, F: Fn(T, T) -> T> Reduction<Unordered, T, F> {
    /// Combined in the order in which results come.
    pub const fn unordered(identity: T, op: F) -> Self {
        Self::new(identity, op)
    }
}

impl<T, F: Fn(T, T) -> T> Reduction<PerTeamSize, T, F> {
    /// Bit by bit the same, as long as the schedule and the size of the team are.
    pub const fn per_team_size(identity: T, op: F) -> Self {
        Self::new(identity, op)
    }
}

impl<T, F: Fn(T, T) -> T> Reduction<Deterministic, T, F> {
    /// Bit by bit the same, whatever the schedule and the size of the team.
    pub const fn deterministic(identity: T, op: F) -> Self {
        Self::new(identity, op)
    }

    /// Cuts ranges into so many blocks, fewer if there are fewer indices. Default: 256. The result depends on it, so it must not depend on the machine.
    ///
    /// # Panics
    /// If `blocks` is 0 or above 65,536.
    #[track_caller]
    pub fn blocks(mut self, blocks: usize) -> Self {
        assert!(
            (1..=MAX_BLOCKS).contains(&blocks),
            "a reduction of {blocks} blocks: from 1 to {MAX_BLOCKS} are possible"
        );
        self.blocks = blocks;
        self
    }

    /// The blocks that `range` is cut into, in order; none is empty. Their lengths differ by at most one. For programs that reduce the blocks somewhere else, and [`combine`](Self::combine) the results.
    pub fn blocks_of(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + use<T, F> {
        let blocks = self.blocks.min(range.len());
        (0..blocks).map(move |block| split::block(range.clone(), block, blocks))
    }

    /// The result for a whole range, from the results of all its [`blocks`](Self::blocks_of) in their order; of none, the neutral value.
    ///
    /// Bit by bit what [`par_reduce`](crate::pool::handle::Hive::par_reduce) comes to over that range, wherever the blocks were reduced. So several processes, each with some of the blocks, come to what one
    /// would have come to:
    ///
    /// ```
    /// use hive::{Reduction, Schedule};
    ///
    /// let sum = Reduction::deterministic(0.0, |a, b| a + b);
    /// let x: Vec<f64> = (1..=10_000).map(|i| 1.0 / f64::from(i)).collect();
    /// let own = |process| {
    ///     // Whole blocks, by `part`. Each process could have its part of `x` only.
    ///     let own = sum.part(0..x.len(), process, 3);
    ///     let blocks = sum.blocks_of(0..x.len()).filter(move |block| own.contains(&block.start));
    ///     blocks.map(|block| x[block].iter().sum()).collect::<Vec<f64>>()
    /// };
    /// let gathered = [own(0), own(1), own(2)].concat();
    /// let alone: f64 = hive::par_reduce(0..x.len(), Schedule::Static, &sum, |range| x[range].iter().sum());
    /// assert_eq!(sum.combine(gathered).to_bits(), alone.to_bits());
    /// ```
    ///
    /// # Panics
    /// If there are more than 65,536 results.
    #[track_caller]
    pub fn combine(&self, results: impl IntoIterator<Item = T>) -> T
    where
        T: Clone,
    {
        let results = results.into_iter();
        let combined = if block_tree::is_large::<T>() {
            combine_along_tree(results.map(Box::new), &block_tree::boxed(&self.op)).map(|value| *value)
        } else {
            combine_along_tree(results, &self.op)
        };
        combined.unwrap_or_else(|| self.identity.clone())
    }
}

/// The results of all blocks combined along the tree. None: there are none.
#[track_caller]
fn combine_along_tree<V>(results: impl Iterator<Item = V>, op: &impl Fn(V, V) -> V) -> Option<V> {
    let mut nodes = Nodes::new();
    for (block, result) in results.enumerate() {
        assert!(block < MAX_BLOCKS, "more results than a reduction has blocks: {MAX_BLOCKS} at most");
        nodes.push(Node::leaf(block as u32, result), op);
    }
    nodes.combine(op)
}

impl<L, T, F> Reduction<L, T, F> {
    const fn new(identity: T, op: F) -> Self {
        Self { identity, op, blocks: DEFAULT_BLOCKS, reproducibility: PhantomData }
    }
}

impl<L: Reproducibility, T, F: Fn(T, T) -> T> Reduction<L, T, F> {
    /// The indices of `range` that are bee `id`'s in a team of `count` when it is reduced inside a region: contiguous, in order of the bees' numbers. As [`Bee::split`](crate::region::bee::Bee::split), but
    /// with [`Deterministic`] cut at whole blocks, so their lengths differ by up to a block. For data that only its bee has.
    ///
    /// # Panics
    /// If `count` is 0 or `id` not below it.
    #[track_caller]
    pub fn part(&self, range: Range<usize>, id: usize, bees: usize) -> Range<usize> {
        assert!(id < bees, "there is no bee {id} in a team of {bees}");
        match self.cut(&range, Schedule::Static, bees) {
            Cut::Blocks(blocks) if blocks > 0 => split::blocks(range, split::block(0..blocks, id, bees), blocks),
            _ => split::block(range, id, bees),
        }
    }

    /// How `range` is cut for `members`. No block is empty.
    pub(crate) fn cut(&self, range: &Range<usize>, schedule: Schedule, bees: usize) -> Cut {
        match L::cut(schedule, bees, self.blocks) {
            Cut::Blocks(blocks) => Cut::Blocks(blocks.min(range.len())),
            other => other,
        }
    }
}

impl<L, T: fmt::Debug, F> fmt::Debug for Reduction<L, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reproducibility = std::any::type_name::<L>().rsplit("::").next().unwrap_or_default();
        write!(f, "Reduction::<{reproducibility}> {{ identity: {:?}, blocks: {} }}", self.identity, self.blocks)
    }
}
