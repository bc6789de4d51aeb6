//! What else goes on while loops are measured, and who runs them.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::catalog::names;
use crate::runtimes::forkunion;

/// What else goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scene {
    /// Nothing
    Alone,
    /// A busy process, bound to the second CPU
    Bound,
    /// A busy process, bound to no CPU
    Free,
    /// A second process that measures the same; the figure is the sum of both
    Two,
    /// Nothing, but the team has eight threads
    Eight,
    /// 20 us of serial work between loops, beside a busy process that is bound to the second CPU
    Serial,
}

impl Scene {
    /// As on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether there is a busy process beside the one that measures.
    pub(super) const fn has_busy(self) -> bool {
        matches!(self, Self::Free) || self.binds_busy()
    }

    /// Whether it is bound to the second CPU.
    pub(super) const fn binds_busy(self) -> bool {
        matches!(self, Self::Bound | Self::Serial)
    }

    /// How many processes measure at once.
    pub(super) const fn processes(self) -> usize {
        if matches!(self, Self::Two) { 2 } else { 1 }
    }

    /// How many threads the team has, if that is not left to the runtime.
    pub(super) const fn threads(self) -> Option<usize> {
        if matches!(self, Self::Eight) { Some(8) } else { None }
    }

    /// Microseconds of serial work before each loop.
    pub(super) const fn serial_us(self) -> u32 {
        if matches!(self, Self::Serial) { 20 } else { 0 }
    }
}

names! {
    /// Who runs the loop, and by which call.
    #[derive(Serialize, Deserialize)]
    Way {
        Plain "plain";
        Rayon "rayon";
        ParFor "par_for";
        ParReduce "par_reduce";
        Spmd "spmd";
        ParForUnbound "par_for unbound";
        ForkUnion "forkunion";
    }
}

impl Way {
    /// All that this build has, in the order of columns.
    pub(super) fn present() -> Vec<Self> {
        let mut ways = vec![Self::Plain, Self::Rayon, Self::ParFor, Self::ParReduce, Self::Spmd, Self::ParForUnbound];
        ways.extend(forkunion::availability().ok().map(|()| Self::ForkUnion));
        ways
    }

    /// Whether it is one of those without hive of which the better one is 1.
    pub(super) const fn is_reference(self) -> bool {
        matches!(self, Self::Plain | Self::Rayon)
    }
}
