//! The shared words by which a team divides up a loop, for the rounds of one generation: as many as the round numbers
//! in the words can tell apart. The first generation's are in the `LoopState`, those of later generations in the
//! buffers of the `BufferPool`. The protocol is described in `docs/loops.md`.

use std::ops::Range;

use crate::loops::unit_queue::UnitQueue;
use crate::loops::work_range::WorkRange;
use crate::region::split;

/// A work range for each bee, for the schedules that steal (`Dynamic`, `Affinity`), and one queue for the schedules
/// whose few chunks all come from one place (`Guided`, `Factoring`).
pub(crate) struct Dispatch {
    pub(crate) queue: UnitQueue,
    ranges: Box<[WorkRange]>,
}

/// One round of a loop: the words to use for it, and the number that it has in them, from 1 on.
pub(crate) type Round<'w> = (&'w Dispatch, u16);

impl Dispatch {
    /// For teams of up to `bees` bees.
    pub(crate) fn new(bees: usize) -> Self {
        Self { queue: UnitQueue::new(), ranges: (0..bees).map(|_| WorkRange::new()).collect() }
    }

    /// Puts all words into their initial state. No other bee may be using them.
    pub(crate) fn reset(&self) {
        self.queue.reset();
        self.ranges.iter().for_each(WorkRange::reset);
    }

    /// The largest number of bees that a team may have.
    pub(crate) fn bees(&self) -> usize {
        self.ranges.len()
    }

    /// The work range of bee `id`.
    #[inline]
    pub(crate) fn range(&self, id: u32) -> &WorkRange {
        &self.ranges[id as usize]
    }

    /// The block of the `units` units of a loop with which bee `id` begins, if the loop is divided up among the first
    /// `bees` bees. Empty for all other bees.
    #[inline]
    pub(crate) fn block(id: u32, bees: usize, units: u32) -> Range<u32> {
        if id as usize >= bees {
            return 0..0;
        }
        let block = split::block(0..units as usize, id as usize, bees);
        block.start as u32..block.end as u32
    }
}
