//! The three degrees of reproducibility that a reduction may have, as types, and how each of them cuts a range.
//! Floating-point addition is not associative, so a result depends on how the range is cut and in which order the
//! pieces are combined.

/// How reproducible the result of a [`Reduction`](crate::reductions::reduction::Reduction) is: [`Unordered`],
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
pub trait Reproducibility: sealed::CutRule {}

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

pub(crate) mod sealed {
    use crate::loops::schedule::Schedule;

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

    /// How a degree of reproducibility cuts ranges.
    pub trait CutRule {
        /// How a range is cut for a team of `bees` under `schedule`. `blocks` is the number of blocks that the user
        /// wants at most.
        fn cut(schedule: Schedule, bees: usize, blocks: usize) -> Cut;
    }

    impl CutRule for super::Unordered {
        fn cut(_schedule: Schedule, _bees: usize, _blocks: usize) -> Cut {
            Cut::BySchedule
        }
    }

    /// How many blocks there are for each bee, so that a schedule has some to hand out one by one.
    const BLOCKS_PER_BEE: usize = 16;

    impl CutRule for super::PerTeamSize {
        fn cut(schedule: Schedule, bees: usize, _blocks: usize) -> Cut {
            if schedule == Schedule::Static { Cut::OnePerBee } else { Cut::Blocks(bees * BLOCKS_PER_BEE) }
        }
    }

    impl CutRule for super::Deterministic {
        fn cut(_schedule: Schedule, _bees: usize, blocks: usize) -> Cut {
            Cut::Blocks(blocks)
        }
    }
}
