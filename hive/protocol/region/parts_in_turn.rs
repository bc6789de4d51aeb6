//! A loop with more parts than there are CPUs. Fewer bees than it has parts, a *crew*, run them one after another in
//! the names of the bees that they belong to. The queen begins with her own part, and each member takes the next one
//! that nobody has begun. A team of all these bees would only take the CPUs from one another. See `docs/latecomers.md`.

use std::iter;

use crate::protocol::region::body::RegionBody;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU32, Ordering};

/// The body that the crew of a loop runs.
pub(crate) struct PartsInTurn<'b, P> {
    body: &'b P,
    /// How many parts there are.
    parts: u32,
    /// The next one that nobody has begun. The members of the crew share it. Part 0 is not among them: it is the
    /// queen's, and a program may count on it that she is the thread that has called the loop.
    next: &'b AtomicU32,
}

impl<'b, P: RegionBody> PartsInTurn<'b, P> {
    /// For a loop that runs `body` once as each of `parts` bees. `next`: 1.
    pub(crate) fn new(body: &'b P, parts: u32, next: &'b AtomicU32) -> Self {
        debug_assert!(P::RUNS_ANYWHERE, "its parts may need each other");
        Self { body, parts, next }
    }
}

impl<P: RegionBody> RegionBody for PartsInTurn<'_, P> {
    const RUNS_ANYWHERE: bool = true;

    fn run(&self, crew: &RegionContext<'_>) {
        if crew.bees() == 1 {
            // The caller alone, which does the whole loop as the only bee of its team.
            return self.body.run_part(crew);
        }
        let (team, own_group) = (crew.team(), *crew.own_group());
        let member = RegionContext::new(team, crew.id(), self.parts, crew.epoch(), own_group);
        let run_part = |id| {
            crew.start_if_long();
            team.run_part_of(id, &member, &own_group, crew.led_parts(), |part| self.body.run_part(part));
        };
        if crew.id() == 0 {
            run_part(0);
        }
        // Relaxed: each number is given out once, whatever the order. What the parts do is published by the region.
        iter::repeat_with(|| self.next.fetch_add(1, Ordering::Relaxed))
            .take_while(|id| *id < self.parts)
            .for_each(run_part);
    }
}
