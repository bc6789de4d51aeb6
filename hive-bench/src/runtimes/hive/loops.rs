//! Loops: a region each.

use std::ops::Range;

use crate::runtimes::loops::{Counter, Loops};

use super::HiveTeam;

impl Loops for HiveTeam {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.hive.spmd(self.members, |bee| body(bee.split(0..len)));
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F) {
        let counter = Counter::default();
        self.hive.spmd(self.members, |_| counter.take_all(len, chunk, &body));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        let slots = &self.slots;
        self.hive.spmd(self.members, |bee| slots.set(bee.id(), body(bee.split(0..len))));
        slots.sum()
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64 {
        let (slots, counter) = (&self.slots, Counter::default());
        self.hive.spmd(self.members, |bee| slots.set(bee.id(), counter.sum_all(len, chunk, &body)));
        slots.sum()
    }
}
