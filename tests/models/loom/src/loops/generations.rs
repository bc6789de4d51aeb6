//! Bees that are no team go from one generation of rounds to the next, at their own pace: scripts that whole regions would
//! come to only after many steps.

use super::buffer_pool::{BufferPool, Link};
use super::dispatch::Dispatch;
use crate::data::{Datum, data};

/// Units of a round.
const UNITS: usize = 1;

/// Generations of a round each, dealt out from the queue of their words.
pub(crate) struct Generations {
    first: Dispatch,
    cursor: Link,
    later: BufferPool,
    bees: u32,
    /// As in `Loop`, generation by generation.
    runs: Vec<Datum>,
}

impl Generations {
    /// For so many bees, who all go through all of them.
    pub(crate) fn new(bees: u32, generations: u32) -> Self {
        let team = bees as usize;
        let (first, cursor, later) = (Dispatch::new(team), Link::new(), BufferPool::new(team));
        Self { first, cursor, later, bees, runs: data(generations * UNITS as u32) }
    }

    /// One bee's way.
    pub(crate) fn run_all(&self) {
        let mut set = None;
        for runs in self.runs.chunks(UNITS) {
            let words = set.map_or(&self.first, |set| self.later.dispatch(set));
            while let Some(units) = words.queue().take(1, UNITS, |_| 1) {
                units.for_each(|unit| runs[unit].set(runs[unit].get() + 1));
            }
            set = Some(self.later.advance(&self.cursor, set, self.bees));
        }
    }

    /// Each unit has been run once. By one whom all are ordered before.
    pub(crate) fn assert_run(&self) {
        let runs: Vec<_> = self.runs.iter().map(Datum::get).collect();
        assert!(runs.iter().all(|runs| *runs == 1), "runs of each generation's units: {runs:?}");
    }
}
