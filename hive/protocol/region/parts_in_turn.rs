//! A loop with more parts than there are CPUs. Fewer bees than it has parts, a *crew*, run them one after another in
//! the names of the bees that they belong to: each member takes the next part that nobody has begun. A team of all
//! these bees would only take the CPUs from one another. See `docs/latecomers.md`.

use crate::protocol::region::body::RegionBody;
use crate::protocol::region::region_context::RegionContext;
use crate::sync::{AtomicU32, Ordering};

/// The body that the crew of a loop runs.
pub(crate) struct PartsInTurn<'b, P> {
    body: &'b P,
    /// How many parts there are.
    parts: u32,
    /// How many of them have been begun. The members of the crew share it.
    begun: &'b AtomicU32,
}

impl<'b, P: RegionBody> PartsInTurn<'b, P> {
    /// For a loop that runs `body` once as each of `parts` bees. `begun`: 0.
    pub(crate) fn new(body: &'b P, parts: u32, begun: &'b AtomicU32) -> Self {
        debug_assert!(P::RUNS_ANYWHERE, "its parts may need each other");
        Self { body, parts, begun }
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
        // Relaxed: each number is given out once, whatever the order. What the parts do is published by the region.
        while let Some(id) = Some(self.begun.fetch_add(1, Ordering::Relaxed)).filter(|id| *id < self.parts) {
            team.run_part_of(id, &member, &own_group, crew.led_parts(), |part| self.body.run_part(part));
        }
    }
}
