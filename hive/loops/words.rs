//! The words by which a team shares out a loop, for as many rounds as the numbers in them can tell apart.

use std::ops::Range;

use super::queue::Queue;
use super::share::Share;
use crate::split;

/// The shares of a team's members, and the one queue of the schedules that need no more.
pub(super) struct Words {
    queue: Queue,
    shares: Box<[Share]>,
}

impl Words {
    /// For a team of up to `members`.
    pub(super) fn new(members: usize) -> Self {
        Self { queue: Queue::new(), shares: (0..members).map(|_| Share::new()).collect() }
    }

    /// As new. Nobody else may be at them.
    pub(super) fn reset(&self) {
        self.queue.reset();
        self.shares.iter().for_each(Share::reset);
    }

    pub(super) fn members(&self) -> usize {
        self.shares.len()
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(super) fn share(&self, id: u32) -> &Share {
        &self.shares[id as usize]
    }

    /// The block of `units` that each of the first `members` begins with.
    pub(super) fn block(id: u32, members: usize, units: u32) -> Range<u32> {
        if id as usize >= members {
            return 0..0;
        }
        let block = split::block(0..units as usize, id as usize, members);
        block.start as u32..block.end as u32
    }
}
