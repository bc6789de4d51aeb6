//! What the bees of a group share: the start line through which the leader starts them, and the barriers at which they
//! meet.
//!
//! A team has one `Group` for each group of its `Shape` (see `shape.rs`). The group's leader keeps the base counts of
//! its barriers in its `LedGroups`. See `docs/shape.md`.

use crossbeam_utils::CachePadded;

use crate::protocol::region::barrier::Barrier;
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::start_line::StartLine;

/// The largest number of bees that use the barrier in the start line: see `StartLine::near_barrier`. More bees use the
/// far barrier.
pub(crate) const MAX_NEAR_BEES: u32 = 4;

/// A group's start line and barriers.
pub(crate) struct Group {
    /// The start line, which contains the near barrier, and the lines among which it was chosen.
    line_choice: LineChoice,
    /// The barrier for more than `MAX_NEAR_BEES` bees, in a line of its own.
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

    /// Both barriers, at either of which a bee may be blocked.
    pub(crate) fn barriers(&self) -> impl Iterator<Item = &Barrier> {
        [&self.line_choice.near_barrier, &*self.far_barrier].into_iter()
    }

    /// The barrier for a region with `bees` bees in this group. `start_line` must be the group's own: the caller has it
    /// at hand already.
    #[inline(always)]
    pub(crate) fn barrier<'g>(&'g self, start_line: &'g StartLine, bees: u32) -> &'g Barrier {
        if bees <= MAX_NEAR_BEES { &start_line.near_barrier } else { &self.far_barrier }
    }
}
