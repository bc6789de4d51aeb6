//! The words by which a team shares out a loop, for as many rounds as the numbers in them can tell apart.

use std::ops::Range;

use crate::loops::unit_queue::UnitQueue;
use crate::loops::work_range::WorkRange;
use crate::region::split;

/// The shares of a team's bees, and the one queue of the schedules that need no more.
pub(crate) struct Dispatch {
    queue: UnitQueue,
    ranges: Box<[WorkRange]>,
}

impl Dispatch {
    /// For a team of up to `members`.
    pub(crate) fn new(bees: usize) -> Self {
        Self { queue: UnitQueue::new(), ranges: (0..bees).map(|_| WorkRange::new()).collect() }
    }

    /// As new. Nobody else may be at them.
    pub(crate) fn reset(&self) {
        self.queue.reset();
        self.ranges.iter().for_each(WorkRange::reset);
    }

    pub(crate) fn bees(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn queue(&self) -> &UnitQueue {
        &self.queue
    }

    pub(crate) fn range(&self, id: u32) -> &WorkRange {
        &self.ranges[id as usize]
    }

    /// The block of `units` that each of the first `members` begins with.
    pub(crate) fn block(id: u32, bees: usize, units: u32) -> Range<u32> {
        if id as usize >= bees {
            return 0..0;
        }
        let block = split::block(0..units as usize, id as usize, bees);
        block.start as u32..block.end as u32
    }
}
