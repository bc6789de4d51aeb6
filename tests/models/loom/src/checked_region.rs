//! Regions whose data is checked in both directions: the queen's into the bees, and theirs back to her.

use crate::data::{Datum, data};
use crate::hive::Hive;

/// What the bees of all rounds of a model share.
pub(crate) struct CheckedRegion {
    input: Datum,
    outputs: Vec<Datum>,
    round: u32,
}

impl CheckedRegion {
    /// For a hive of up to `max_bees`.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self { input: Datum::new(0), outputs: data(max_bees), round: 0 }
    }

    /// A region of `team` in which each bee takes what the queen wrote and leaves its own number with it, once.
    pub(crate) fn run(&mut self, hive: &Hive, bees: u32) {
        let before: Vec<_> = self.outputs.iter().map(Datum::get).collect();
        self.round += 1;
        self.input.set(100 * self.round);
        hive.region(bees, |context| {
            assert_eq!(context.bees(), bees, "a bee of another team");
            assert!(context.id() < bees, "bee {} runs in a team of {bees}", context.id());
            let output = &self.outputs[context.id() as usize];
            assert!(output.get() < self.input.get(), "bee {} runs its part twice", context.id());
            output.set(self.input.get() + context.id());
        });
        for (id, output) in (0..).zip(&self.outputs) {
            let expected = if id < bees { 100 * self.round + id } else { before[id as usize] };
            assert_eq!(output.get(), expected, "what bee {id} has left of round {}", self.round);
        }
    }
}
