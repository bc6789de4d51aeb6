//! Regions whose data is checked in both directions: the queen's into the bees, and theirs back to her.

use crate::data::{Datum, data};
use crate::hive::Hive;

/// What the members of all rounds of a model share.
pub(crate) struct Rounds {
    input: Datum,
    outputs: Vec<Datum>,
    round: u32,
}

impl Rounds {
    /// For a hive of up to `max_bees`.
    pub(crate) fn new(max_bees: u32) -> Self {
        Self { input: Datum::new(0), outputs: data(max_bees), round: 0 }
    }

    /// A region of `team` in which each member takes what the queen wrote and leaves its own number with it, once.
    pub(crate) fn region(&mut self, hive: &Hive, team: u32) {
        let before: Vec<_> = self.outputs.iter().map(Datum::get).collect();
        self.round += 1;
        self.input.set(100 * self.round);
        hive.region(team, |member| {
            assert_eq!(member.team(), team, "a member of another team");
            assert!(member.id() < team, "member {} runs in a team of {team}", member.id());
            let output = &self.outputs[member.id() as usize];
            assert!(output.get() < self.input.get(), "member {} runs its part twice", member.id());
            output.set(self.input.get() + member.id());
        });
        for (id, output) in (0..).zip(&self.outputs) {
            let expected = if id < team { 100 * self.round + id } else { before[id as usize] };
            assert_eq!(output.get(), expected, "what member {id} has left of round {}", self.round);
        }
    }
}
