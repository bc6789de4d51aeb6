//! How much of a reduction's result is promised to be the same from run to run.

/// How reproducible the result of a [`Reduction`](crate::Reduction) is: [`Fast`], [`PerTeam`] or [`Fixed`]. Sums of floating-point numbers depend on the order in which they are
/// added up, and the order on who was faster, unless somebody takes care.
pub trait Level: sealed::Level {}

/// Combines what comes in the order in which it comes: nothing is kept waiting, and the last bits of the result may differ from run to run.
#[derive(Clone, Copy, Debug)]
pub enum Fast {}

/// Bit by bit the same from run to run, as long as the schedule and the size of the team are.
#[derive(Clone, Copy, Debug)]
pub enum PerTeam {}

/// Bit by bit the same whatever the size of the team and the schedule: the range is cut into blocks by its length alone, and these are combined along a fixed tree.
#[derive(Clone, Copy, Debug)]
pub enum Fixed {}

impl Level for Fast {}
impl Level for PerTeam {}
impl Level for Fixed {}

pub(super) mod sealed {
    use crate::loops::Schedule;

    /// What a reduction's range is cut into.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cut {
        /// As the schedule has it.
        AsItComes,
        /// One block a member.
        Team,
        /// So many blocks, dealt out by the schedule.
        Blocks(usize),
    }

    pub trait Level {
        /// How a range is cut for `members` under `schedule`, if the user wants up to `blocks` blocks.
        fn cut(schedule: Schedule, members: usize, blocks: usize) -> Cut;
    }

    impl Level for super::Fast {
        fn cut(schedule: Schedule, _members: usize, _blocks: usize) -> Cut {
            if schedule == Schedule::Static { Cut::Team } else { Cut::AsItComes }
        }
    }

    /// Blocks a member that a schedule can deal out one by one.
    const BLOCKS_A_MEMBER: usize = 16;

    impl Level for super::PerTeam {
        fn cut(schedule: Schedule, members: usize, _blocks: usize) -> Cut {
            if schedule == Schedule::Static { Cut::Team } else { Cut::Blocks(members * BLOCKS_A_MEMBER) }
        }
    }

    impl Level for super::Fixed {
        fn cut(_schedule: Schedule, _members: usize, blocks: usize) -> Cut {
            Cut::Blocks(blocks)
        }
    }
}
