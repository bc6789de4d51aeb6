//! The interface of a problem that ranks solve together.

use std::time::Duration;

use hive::Hive;

use super::answer::Answer;
use super::ranks::Ranks;
use super::rows::Rows;

/// The ranks and the hive that solve a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'r> {
    pub(super) ranks: &'r Ranks,
    pub(super) hive: &'r Hive,
    pub(super) blocks: usize,
}

/// A problem that is solved by steps, and whose rows can be divided among ranks.
pub(super) trait Problem {
    /// A rank's rows, before the ranks have communicated.
    type Part;
    type Solver<'r>: Solver;

    fn name(&self) -> String;

    /// Makes up or reads this rank's rows, without communication.
    fn part(&self, setting: Setting<'_>) -> Result<Self::Part, String>;

    /// Gets ready together with all other ranks.
    fn solver<'r>(&self, setting: Setting<'r>, part: Self::Part) -> Self::Solver<'r>;

    /// So many steps on all rows, by this process and its hive alone.
    fn alone(&self, setting: Setting<'_>, steps: usize) -> Result<Answer, String>;
}

/// A problem of which each rank has its rows.
pub(super) trait Solver {
    /// One step by all ranks. Returns the sum of the step, or an error; either is the same in all ranks.
    fn step(&mut self) -> Result<f64, String>;

    fn rows(&self) -> &Rows;

    /// The own rows of the answer, one after the other.
    fn answer(&self) -> &[f64];

    /// How long this rank has waited for others.
    fn waited(&self) -> Duration;
}
