//! The range of one bee in a loop, from which other threads steal.
//!
//! The threads are not a team: whole regions would take many more steps to reach the states that these scripts start
//! from. Used by `models/work_ranges.rs`.

use std::ops::Range;

use super::work_range::WorkRange;
use crate::data::{Datum, data};

/// A range whose owner begins each round with the units of `block`, which starts at 0.
pub(crate) struct SingleRange {
    range: WorkRange,
    block: Range<u32>,
    /// Units of a round. Some may be of other bees' blocks.
    units: u32,
    /// How often each unit has been run, as in `Loop`.
    runs: Vec<Datum>,
}

impl SingleRange {
    /// For the rounds from 1 to `rounds`.
    pub(crate) fn new(block: u32, units: u32, rounds: u16) -> Self {
        Self { range: WorkRange::new(), block: 0..block, units, runs: data(units * u32::from(rounds)) }
    }

    /// The owner claims up to `amount` units.
    pub(crate) fn claim(&self, round: u16, amount: u32) -> Option<Range<u32>> {
        self.range.claim(round, &self.block, |_| amount)
    }

    /// The owner runs the units that are left, one by one.
    pub(crate) fn finish(&self, round: u16) {
        while let Some(units) = self.claim(round, 1) {
            self.run(round, units);
        }
    }

    /// Another bee steals all that it can get, and runs it.
    pub(crate) fn steal_all(&self, round: u16) {
        while let Some(units) = self.range.steal(round, &self.block) {
            self.run(round, units);
        }
    }

    /// The owner gives back units that it has claimed, or runs them if it cannot give them back.
    pub(crate) fn give_back(&self, round: u16, units: Range<u32>) {
        if !self.range.give_back(round, &units) {
            self.run(round, units);
        }
    }

    /// The owner, whose range is empty in this round, publishes units that it has from elsewhere, or runs them if it
    /// cannot.
    pub(crate) fn put(&self, round: u16, units: Range<u32>) {
        if !self.range.publish(round, &units) {
            self.run(round, units);
        }
    }

    pub(crate) fn run(&self, round: u16, units: Range<u32>) {
        for unit in units {
            let runs = self.runs_of(round, unit);
            assert_eq!(runs.get(), 0, "runs of unit {unit} in round {round} before this one");
            runs.set(1);
        }
    }

    /// How often each unit of a round has been run. All runs must be ordered before the caller.
    pub(crate) fn runs(&self, round: u16) -> Vec<u32> {
        (0..self.units).map(|unit| self.runs_of(round, unit).get()).collect()
    }

    fn runs_of(&self, round: u16, unit: u32) -> &Datum {
        &self.runs[(u32::from(round - 1) * self.units + unit) as usize]
    }
}
