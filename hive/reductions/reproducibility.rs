//! How much of a reduction's result is promised to be the same from run to run.

/// How reproducible the result of a [`Reduction`](crate::reductions::reduction::Reduction) is: [`Unordered`], [`PerTeamSize`] or [`Deterministic`]. Sums of floating-point numbers depend on the order in which they are
/// added up, and the order on who was faster, unless somebody takes care.
pub trait Reproducibility: sealed::CutRule {}

/// Combines what comes in the order in which it comes: nothing is kept waiting, and the last bits of the result may differ from run to run.
#[derive(Clone, Copy, Debug)]
pub enum Unordered {}

/// Bit by bit the same from run to run, as long as the schedule and the size of the team are.
#[derive(Clone, Copy, Debug)]
pub enum PerTeamSize {}

/// Bit by bit the same whatever the size of the team and the schedule: the range is cut into blocks by its length alone, and these are combined along a fixed tree.
#[derive(Clone, Copy, Debug)]
pub enum Deterministic {}

impl Reproducibility for Unordered {}
impl Reproducibility for PerTeamSize {}
impl Reproducibility for Deterministic {}

pub(crate) mod sealed {
    use crate::loops::schedule::Schedule;

    /// What a reduction's range is cut into.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cut {
        /// As the schedule has it.
        BySchedule,
        /// One block a bee.
        OnePerBee,
        /// So many blocks, dealt out by the schedule.
        Blocks(usize),
    }

    pub trait CutRule {
        /// How a range is cut for `members` under `schedule`, if the user wants up to `blocks` blocks.
        fn cut(schedule: Schedule, bees: usize, blocks: usize) -> Cut;
    }

    impl CutRule for super::Unordered {
        fn cut(schedule: Schedule, _bees: usize, _blocks: usize) -> Cut {
            if schedule == Schedule::Static { Cut::OnePerBee } else { Cut::BySchedule }
        }
    }

    /// Blocks a bee that a schedule can deal out one by one.
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
