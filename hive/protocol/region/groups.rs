//! Where a group starts and meets.

use crossbeam_utils::CachePadded;

use crate::protocol::region::barrier::{Barrier, BaseCount};
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::start_line::StartLine;

/// The largest part of a team that meets in the signal's own line. See `StartLine::near_barrier`.
pub(crate) const MAX_NEAR_BEES: u32 = 4;

/// A group's lines.
pub(crate) struct Group {
    line_choice: LineChoice,
    /// Where those meet that are too many for the barrier in the signal's line.
    far_barrier: CachePadded<Barrier>,
}

impl Group {
    pub(crate) fn new(line_choice: LineChoice) -> Self {
        Self { line_choice, far_barrier: CachePadded::new(Barrier::new()) }
    }

    #[inline(always)]
    pub(crate) fn start_line(&self) -> &StartLine {
        &self.line_choice
    }

    pub(crate) fn barriers(&self) -> impl Iterator<Item = &Barrier> {
        [&self.line_choice.near_barrier, &*self.far_barrier].into_iter()
    }

    /// Where so many of the group meet. `start_line` is its own.
    #[inline(always)]
    pub(crate) fn barrier<'g>(&'g self, start_line: &'g StartLine, bees: u32) -> &'g Barrier {
        if bees <= MAX_NEAR_BEES { &start_line.near_barrier } else { &self.far_barrier }
    }
}

/// Where the counts of a group's barriers stand. Its group's head has it.
#[derive(Clone)]
pub(crate) struct GroupBases {
    near: BaseCount,
    far: BaseCount,
}

impl GroupBases {
    pub(crate) fn new() -> Self {
        Self { near: BaseCount::first(), far: BaseCount::first() }
    }

    #[inline(always)]
    pub(crate) fn base_mut(&mut self, bees: u32) -> &mut BaseCount {
        if bees <= MAX_NEAR_BEES { &mut self.near } else { &mut self.far }
    }
}
