//! A loop with more parts than there are CPUs. A smaller team runs them, one after another, in the names of the bees
//! that they belong to. The queen begins with her own part, and everybody takes the next one that nobody has begun. A
//! team of all these bees would only take the CPUs from one another. See `docs/latecomers.md`.

use std::iter;

use crate::protocol::region::body::RegionBody;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU32, Ordering};

/// The body that the bees of the smaller team run. It does not depend on the type of the loop's own, so that a
/// program's code does not hold all that runs a loop twice for each of its loops.
pub(crate) struct PartsInTurn<'b> {
    run_part: &'b (dyn Fn(&RegionContext<'_>) + Sync),
    /// How many parts there are.
    parts: u32,
    /// The next one that nobody has begun. The bees of the team share it. Part 0 is not among them: it is the
    /// queen's, and a program may count on it that she is the thread that has called the loop.
    next: &'b AtomicU32,
}

impl<'b> PartsInTurn<'b> {
    /// For a loop that calls `run_part` once as each of `parts` bees. `next`: 1.
    pub(crate) fn new(run_part: &'b (dyn Fn(&RegionContext<'_>) + Sync), parts: u32, next: &'b AtomicU32) -> Self {
        Self { run_part, parts, next }
    }
}

impl RegionBody for PartsInTurn<'_> {
    #[inline(always)]
    fn runs_anywhere(&self) -> bool {
        true
    }

    fn run(&self, region: &RegionContext<'_>) {
        if region.bees == 1 {
            // The caller alone, which does the whole loop as the only bee of its team.
            return (self.run_part)(region);
        }
        let (team, own_group) = (region.team, region.own_group);
        let runner = RegionContext::new(team, region.runner, self.parts, region.epoch, own_group);
        let run_part = |id| {
            region.start_if_long();
            team.run_part_of(id, &runner, &own_group, region.led_parts, self.run_part);
        };
        if region.id == 0 {
            run_part(0);
        }
        let next = || {
            // In a forked child, what `next` refers to is gone.
            team.policy().abort_if_forked();
            // Relaxed: each number is given out once, whatever the order. What the parts do is published by the region.
            self.next.fetch_add(1, Ordering::Relaxed)
        };
        iter::repeat_with(next).take_while(|id| *id < self.parts).for_each(run_part);
    }
}
