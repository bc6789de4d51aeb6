//! What a bee calls `Bee::for_range` with, in a form that bees can compare.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::loops::schedule::Schedule;
use crate::protocol::region::region_context::RegionContext;

/// What `for_range` was called with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) range: (usize, usize),
    pub(crate) schedule: Schedule,
    pub(crate) multiple: usize,
    pub(crate) min_work: usize,
    pub(crate) owners: usize,
}

impl Call {
    /// A number that other calls do not have, most probably.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut mix = Mix(0);
        self.hash(&mut mix);
        mix.finish()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} by {:?}", self.range.0, self.range.1, self.schedule)?;
        if self.multiple > 1 {
            write!(f, ", aligned to {}", self.multiple)?;
        }
        match self.owners {
            0 if self.min_work > 1 => write!(f, ", at least {} for each bee", self.min_work),
            0 => Ok(()),
            owners => write!(f, ", in the blocks of {owners} bees"),
        }
    }
}

/// Mixes a few words, in a few nanoseconds. Not for numbers that somebody chooses in order to get the same result
/// twice.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Panics because the bees of a team have called `for_range` with different arguments.
#[cold]
#[track_caller]
pub(crate) fn report_other_call(context: &RegionContext<'_>, difference: &dyn fmt::Display) {
    context
        .panic_or_fail(format_args!("all bees of a team must call for_range with equal arguments, and {difference}"));
}
