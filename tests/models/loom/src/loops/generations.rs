//! Threads that are not a team go from one generation of rounds to the next, each at its own pace.
//!
//! Whole regions would take many more steps to reach the states that these scripts start from. Used by
//! `models/loops.rs`.

use super::buffer_pool::BufferPool;
use super::dispatch::Dispatch;
use crate::data::{Datum, data};

/// Units of a round.
const UNITS: usize = 1;

/// Generations of one round each, whose units come from a queue.
pub(crate) struct Generations {
    first: Dispatch,
    later: BufferPool,
    bees: u32,
    /// How often each unit has been run, as in `Loop`, generation by generation.
    runs: Vec<Datum>,
}

impl Generations {
    /// For this number of bees, each of which goes through all generations.
    pub(crate) fn new(bees: u32, generations: u32) -> Self {
        let team = bees as usize;
        let (first, later) = (Dispatch::new(team), BufferPool::new(team));
        Self { first, later, bees, runs: data(generations * UNITS as u32) }
    }

    /// What one bee does: in each generation it takes units until none is left, and then goes on to the next.
    pub(crate) fn run_all(&self) {
        for (generation, runs) in (0..).zip(self.runs.chunks(UNITS)) {
            let words = match generation {
                0 => &self.first,
                _ => self.later.dispatch(self.later.advance(generation, self.bees)),
            };
            while let Some(units) = words.queue.take(1, UNITS, |_| 1) {
                units.for_each(|unit| runs[unit].set(runs[unit].get() + 1));
            }
        }
    }

    /// Checks that each unit has been run once. All runs must be ordered before the caller.
    pub(crate) fn assert_run(&self) {
        let runs: Vec<_> = self.runs.iter().map(Datum::get).collect();
        assert!(runs.iter().all(|runs| *runs == 1), "runs of each generation's units: {runs:?}");
    }
}
