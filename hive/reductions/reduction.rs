//! The public `Reduction`: with which operation values are combined, how reproducibly, and how the range is cut for
//! that. `Hive::par_reduce`, `Bee::reduce_over` and the other callers ask it for the `Cut` of their range.
//!
//! The three degrees of reproducibility are types, each of which has its own way to cut a range. Floating-point
//! addition is not associative, so a result depends on how the range is cut and in which order the pieces are combined.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use crate::loops::schedule::Schedule;
use crate::reductions::block_tree::{self, Node, Nodes};
use crate::region::split;

/// The number of blocks of a [`Deterministic`] reduction, unless the user sets another: enough for the largest teams to
/// divide up, and few enough that combining them costs next to nothing.
const DEFAULT_BLOCKS: usize = 256;

/// The largest number of blocks that the user may set. More would bring nothing, and combining them would cost time.
const MAX_BLOCKS: usize = 1 << 16;

/// How to combine the values of many indices into one: an identity, an operation, and in the type how reproducible the
/// result is: [`Unordered`], [`PerTeamSize`] or [`Deterministic`].
///
/// `op` must be associative except for rounding, and `identity` must change nothing: `op(identity, x)` is `x`. `op`
/// need not be commutative, except with `Unordered`.
///
/// ```
/// use hive::{Reduction, Schedule};
///
/// let x: Vec<f64> = (1..=100_000).map(|i| 1.0 / f64::from(i)).collect();
/// let sum = Reduction::deterministic(0.0, |a, b| a + b);
/// let with = |bees, schedule| {
///     let hive = hive::Hive::new(bees).unwrap();
///     hive.par_reduce((0..x.len(), schedule), &sum, |range| x[range].iter().sum())
/// };
/// assert_eq!(with(1, Schedule::Static).to_bits(), with(4, Schedule::Dynamic(3)).to_bits());
/// ```
#[derive(Clone, Copy)]
#[doc(alias("declare reduction", "omp reduction"))]
pub struct Reduction<L, T, F> {
    pub(crate) identity: T,
    pub(crate) op: F,
    /// Into how many blocks a `Deterministic` reduction cuts a range.
    blocks: usize,
    reproducibility: PhantomData<fn() -> L>,
}

impl<T, F: Fn(T, T) -> T> Reduction<Unordered, T, F> {
    /// A reduction that combines results in the order in which they come.
    ///
    /// ```
    /// use hive::Reduction;
    ///
    /// let x: Vec<f64> = (0..10_000).map(|i| f64::from(i).sin()).collect();
    /// let max = Reduction::unordered(f64::MIN, f64::max); // the same in any order
    /// let largest = hive::par_reduce(0..x.len(), &max, |range| x[range].iter().copied().fold(f64::MIN, f64::max));
    /// assert!(0.999 < largest && largest <= 1.0);
    /// ```
    pub const fn unordered(identity: T, op: F) -> Self {
        Self::new(identity, op)
    }
}

impl<T, F: Fn(T, T) -> T> Reduction<PerTeamSize, T, F> {
    /// A reduction whose result is bit by bit the same as long as the schedule and the size of the team are the same.
    ///
    /// ```
    /// use hive::Reduction;
    ///
    /// let (x, y) = (vec![0.1; 10_000], vec![0.3; 10_000]);
    /// let sum = Reduction::per_team_size(0.0, |a, b| a + b);
    /// let dot = || hive::par_reduce(0..x.len(), &sum, |range| range.map(|i| x[i] * y[i]).sum::<f64>());
    /// assert_eq!(dot().to_bits(), dot().to_bits());
    /// ```
    pub const fn per_team_size(identity: T, op: F) -> Self {
        Self::new(identity, op)
    }
}

impl<T, F: Fn(T, T) -> T> Reduction<Deterministic, T, F> {
    /// A reduction whose result is bit by bit the same whatever the schedule and the size of the team.
    ///
    /// ```
    /// use hive::{Reduction, Schedule};
    ///
    /// let x: Vec<f64> = (1..10_000).map(|i| 1.0 / f64::from(i)).collect();
    /// let sum = Reduction::deterministic(0.0, |a, b| a + b);
    /// let total = |schedule| hive::par_reduce((0..x.len(), schedule), &sum, |range| x[range].iter().sum::<f64>());
    /// assert_eq!(total(Schedule::Static).to_bits(), total(Schedule::Dynamic(7)).to_bits());
    /// ```
    pub const fn deterministic(identity: T, op: F) -> Self {
        Self::new(identity, op)
    }

    /// Cuts ranges into this many blocks, or fewer if there are fewer indices. Default: 256. The result depends on this
    /// number, so a program that must give the same result on all machines must not compute it from the machine.
    ///
    /// ```
    /// // For more than 256 bees, or for indices of very different cost.
    /// let sum = hive::Reduction::deterministic(0.0, |a, b| a + b).blocks(1024);
    /// assert_eq!(hive::par_reduce(0..1 << 16, &sum, |range| range.len() as f64), 65_536.0);
    /// ```
    ///
    /// # Panics
    /// If `blocks` is 0 or above 65,536.
    #[track_caller]
    pub fn blocks(self, blocks: usize) -> Self {
        assert!(
            (1..=MAX_BLOCKS).contains(&blocks),
            "a reduction of {blocks} blocks: from 1 to {MAX_BLOCKS} are possible"
        );
        Self { blocks, ..self }
    }

    /// The blocks that `range` is cut into, in order; none is empty, and their lengths differ by at most one. For
    /// programs that reduce the blocks elsewhere and [`combine`](Self::combine) the results.
    ///
    /// ```
    /// let sum = hive::Reduction::deterministic(0.0, |a: f64, b| a + b).blocks(4);
    /// assert!(sum.blocks_of(0..10).eq([0..3, 3..6, 6..8, 8..10]));
    /// ```
    pub fn blocks_of(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + use<T, F> {
        let blocks = self.blocks.min(range.len());
        (0..blocks).map(move |block| split::block(range.clone(), block, blocks))
    }

    /// The result for a whole range, from the results of all its [`blocks`](Self::blocks_of) in their order. Without
    /// any results, the identity.
    ///
    /// This is bit by bit what [`par_reduce`](crate::pool::handle::Hive::par_reduce) returns for that range, wherever
    /// the blocks were reduced. So several processes that each reduce some of the blocks get the same result as one
    /// process alone:
    ///
    /// ```
    /// use hive::{Reduction, Schedule};
    ///
    /// let sum = Reduction::deterministic(0.0, |a, b| a + b);
    /// let x: Vec<f64> = (1..=10_000).map(|i| 1.0 / f64::from(i)).collect();
    /// let own = |process| {
    ///     // Whole blocks, by `part`. Each process could have only its own part of `x`.
    ///     let own = sum.part(0..x.len(), process, 3);
    ///     let blocks = sum.blocks_of(0..x.len()).filter(move |block| own.contains(&block.start));
    ///     blocks.map(|block| x[block].iter().sum()).collect::<Vec<f64>>()
    /// };
    /// let gathered = [own(0), own(1), own(2)].concat();
    /// let alone: f64 = hive::par_reduce(0..x.len(), &sum, |range| x[range].iter().sum());
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
        // Large values go through the tree in boxes.
        let combined = if block_tree::is_large::<T>() {
            combine_along_tree(results.map(Box::new), &block_tree::boxed(&self.op)).map(|value| *value)
        } else {
            combine_along_tree(results, &self.op)
        };
        combined.unwrap_or_else(|| self.identity.clone())
    }
}

/// Combines the results of all blocks along the fixed tree. None: there are no blocks.
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
    /// The indices of `range` that bee `id` of a team of `bees` reduces inside a region: contiguous, and in order of
    /// the bees' numbers. Like [`Bee::split`](crate::region::bee::Bee::split), but with [`Deterministic`] cut at whole
    /// blocks, so that the lengths differ by up to a block. For data of which each bee has only its own part.
    ///
    /// ```
    /// let sum = hive::Reduction::deterministic(0.0, |a: f64, b| a + b);
    /// let parts: Vec<_> = (0..3).map(|id| sum.part(0..10_000, id, 3)).collect();
    /// // Each bee can keep its part of the vector in memory of its own.
    /// assert!(parts[0].start == 0 && parts[0].end == parts[1].start && parts[2].end == 10_000);
    /// ```
    ///
    /// # Panics
    /// If `bees` is 0 or `id` is not below it.
    #[track_caller]
    pub fn part(&self, range: Range<usize>, id: usize, bees: usize) -> Range<usize> {
        assert!(id < bees, "there is no bee {id} in a team of {bees}");
        match self.cut(&range, Schedule::Static, bees) {
            Cut::Blocks(blocks) if blocks > 0 => split::blocks(range, split::block(0..blocks, id, bees), blocks),
            _ => split::block(range, id, bees),
        }
    }

    /// How `range` is cut for a team of `bees`. There are at most as many `Cut::Blocks` as indices, so none of these is
    /// empty. With `OnePerBee`, some blocks are if there are fewer indices than bees.
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

/// How reproducible the result of a [`Reduction`] is: [`Unordered`],
/// [`PerTeamSize`] or [`Deterministic`]. A sum of floating-point numbers depends on the order in which they are added,
/// and unless that order is fixed, it depends on which bee is faster.
///
/// ```
/// use hive::{Reduction, Reproducibility};
///
/// /// The caller decides how reproducible the mean is.
/// fn mean<L: Reproducibility, F: Fn(f64, f64) -> f64 + Sync>(x: &[f64], sum: &Reduction<L, f64, F>) -> f64 {
///     hive::par_reduce(0..x.len(), sum, |range| x[range].iter().sum()) / x.len() as f64
/// }
/// assert_eq!(mean(&[1.0, 2.0, 6.0], &Reduction::deterministic(0.0, |a, b| a + b)), 3.0);
/// assert_eq!(mean(&[1.0, 2.0, 6.0], &Reduction::unordered(0.0, |a, b| a + b)), 3.0);
/// ```
pub trait Reproducibility: CutRule {}

/// Combines results in the order in which they come: nothing waits for its turn, and the last bits of the result may
/// differ from run to run.
///
/// ```
/// use hive::{Reduction, Unordered};
///
/// /// Whole numbers have the same sum in any order.
/// const COUNT: Reduction<Unordered, usize, fn(usize, usize) -> usize> = Reduction::unordered(0, |a, b| a + b);
/// assert_eq!(hive::par_reduce(0..1000, &COUNT, |range| range.filter(|i| i % 7 == 0).count()), 143);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Unordered {}

/// Bit by bit the same result from run to run, as long as the schedule and the size of the team are the same.
///
/// ```
/// use hive::{Reduction, PerTeamSize};
///
/// /// For a solver that is run on one machine.
/// const SUM: Reduction<PerTeamSize, f64, fn(f64, f64) -> f64> = Reduction::per_team_size(0.0, |a, b| a + b);
/// assert_eq!(hive::par_reduce(0..1000, &SUM, |range| range.len() as f64 * 0.5), 500.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum PerTeamSize {}

/// Bit by bit the same result whatever the size of the team and the schedule: the length of the range alone decides
/// into which blocks it is cut, and the blocks are combined along a fixed tree.
///
/// ```
/// use hive::{Reduction, Deterministic};
///
/// /// The same bits on every machine.
/// const SUM: Reduction<Deterministic, f64, fn(f64, f64) -> f64> = Reduction::deterministic(0.0, |a, b| a + b);
/// assert_eq!(hive::par_reduce(0..1000, &SUM, |range| range.len() as f64 * 0.5), 500.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Deterministic {}

impl Reproducibility for Unordered {}
impl Reproducibility for PerTeamSize {}
impl Reproducibility for Deterministic {}

/// What the range of a reduction is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Into the ranges that the schedule hands out.
    BySchedule,
    /// Into one contiguous block for each bee.
    OnePerBee,
    /// Into this many blocks, which the schedule divides among the bees.
    Blocks(usize),
}

/// How a degree of reproducibility cuts ranges. Programs cannot name it, and so not add to it.
pub trait CutRule {
    /// Whether it may be into `Blocks`. A reduction is compiled for the cuts that its type admits and no others.
    const CUTS_INTO_BLOCKS: bool = true;
    /// Whether it may be otherwise.
    const CUTS_OTHERWISE: bool = true;

    /// How a range is cut for a team of `bees` under `schedule`. `blocks` is the number of blocks that the user
    /// wants at most.
    fn cut(schedule: Schedule, bees: usize, blocks: usize) -> Cut;
}

impl CutRule for Unordered {
    const CUTS_INTO_BLOCKS: bool = false;

    fn cut(_schedule: Schedule, _bees: usize, _blocks: usize) -> Cut {
        Cut::BySchedule
    }
}

/// How many blocks there are for each bee, so that a schedule has some to hand out one by one.
const BLOCKS_PER_BEE: usize = 16;

impl CutRule for PerTeamSize {
    fn cut(schedule: Schedule, bees: usize, _blocks: usize) -> Cut {
        if schedule == Schedule::Static { Cut::OnePerBee } else { Cut::Blocks(bees * BLOCKS_PER_BEE) }
    }
}

impl CutRule for Deterministic {
    const CUTS_OTHERWISE: bool = false;

    fn cut(_schedule: Schedule, _bees: usize, blocks: usize) -> Cut {
        Cut::Blocks(blocks)
    }
}
