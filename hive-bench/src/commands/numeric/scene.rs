//! What else goes on while a program runs, and who runs it.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What else goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Scene {
    /// Nothing
    Alone,
    /// A busy process, bound to no CPU
    Free,
    /// The program itself uses Rayon: before each run, and before every eighth loop
    Rayon,
}

/// Who runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Way {
    Plain,
    Rayon,
    /// A hive, loop after loop.
    Loops,
    /// A hive, in one region.
    Region,
}

impl Way {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::Rayon, Self::Loops, Self::Region];
}

/// As on the command line.
pub(super) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
