//! One member's share by itself, taken from by threads that are no team: scripts that a whole team would come to only after many steps.

use std::ops::Range;

use super::share::Share;
use crate::data::{Datum, data};

/// A share in which its member begins each round with the units from 0 up to `block`.
pub(crate) struct Lone {
    share: Share,
    block: Range<u32>,
    /// Units of a round, some of which may be of other members' blocks.
    units: u32,
    /// As in `Loop`.
    runs: Vec<Datum>,
}

impl Lone {
    /// For rounds 1 to `rounds`.
    pub(crate) fn new(block: u32, units: u32, rounds: u16) -> Self {
        Self { share: Share::new(), block: 0..block, units, runs: data(units * u32::from(rounds)) }
    }

    /// Its member takes up to so many units.
    pub(crate) fn claim(&self, round: u16, amount: u32) -> Option<Range<u32>> {
        self.share.claim(round, &self.block, |_| amount)
    }

    /// Its member runs what is left, one by one.
    pub(crate) fn finish(&self, round: u16) {
        while let Some(units) = self.claim(round, 1) {
            self.run(round, units);
        }
    }

    /// Another member takes what it can get, and runs it.
    pub(crate) fn rob(&self, round: u16) {
        while let Some(units) = self.share.steal(round, &self.block) {
            self.run(round, units);
        }
    }

    /// Its member gives back units that it has claimed, or runs them.
    pub(crate) fn give_back(&self, round: u16, units: Range<u32>) {
        if !self.share.give_back(round, &units) {
            self.run(round, units);
        }
    }

    /// Its member, with nothing left in this round, puts down units that it has from elsewhere, or runs them.
    pub(crate) fn put(&self, round: u16, units: Range<u32>) {
        if !self.share.put(round, &units) {
            self.run(round, units);
        }
    }

    pub(crate) fn run(&self, round: u16, units: Range<u32>) {
        for unit in units {
            let runs = self.of(round, unit);
            assert_eq!(runs.get(), 0, "runs of unit {unit} in round {round} before this one");
            runs.set(1);
        }
    }

    /// How often each unit of a round has been run. By one whom all are ordered before.
    pub(crate) fn runs(&self, round: u16) -> Vec<u32> {
        (0..self.units).map(|unit| self.of(round, unit).get()).collect()
    }

    fn of(&self, round: u16, unit: u32) -> &Datum {
        &self.runs[(u32::from(round - 1) * self.units + unit) as usize]
    }
}
