//! Loops: a region each.

use std::ops::Range;

use hive::{Reduction, Schedule};

use crate::runtimes::loops::Loops;

use super::HiveTeam;

impl Loops for HiveTeam {
    fn blocks<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, body: F) {
        self.hive.par_for(0..len, move |range, _| body(range));
    }

    fn dynamic<F: Fn(Range<usize>) + Sync>(&mut self, len: usize, chunk: usize, body: F) {
        self.hive.par_for((0..len, Schedule::Dynamic(chunk)), move |range, _| body(range));
    }

    fn sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, body: F) -> f64 {
        self.hive.par_reduce(0..len, &Reduction::per_team_size(0.0, |a, b| a + b), body)
    }

    /// The order of the additions is free, as it is in Rayon's sum.
    fn sum_of_each<F: Fn(f64) -> f64 + Sync>(&mut self, numbers: &[f64], of: F) -> f64 {
        let sum = Reduction::unordered(0.0, |a, b| a + b);
        self.hive.par_reduce(0..numbers.len(), &sum, |range| numbers[range].iter().map(|number| of(*number)).sum())
    }

    fn dynamic_sum<F: Fn(Range<usize>) -> f64 + Sync>(&mut self, len: usize, chunk: usize, body: F) -> f64 {
        self.hive.par_reduce((0..len, Schedule::Dynamic(chunk)), &Reduction::unordered(0.0, |a, b| a + b), body)
    }
}
