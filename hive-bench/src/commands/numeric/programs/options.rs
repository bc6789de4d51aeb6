//! Prices of options by Monte Carlo: a sum over paths for each price, with random numbers that depend on nothing but
//! the path.

use std::ops::Range;

use hive::Hive;

use super::{Program, fewer_in_tests};
use crate::commands::numeric::loops::Loops;

const OPTIONS: usize = fewer_in_tests(80);
const PATHS: usize = 1000;
/// Of a path.
const STEPS: usize = 16;

#[derive(Default)]
pub(crate) struct Options;

/// The sum of what an option pays off on some paths: the mean on the way, as far as it is above the strike.
fn payoffs(option: usize, paths: Range<usize>) -> f64 {
    let strike = 0.9 + 0.2 * option as f64 / OPTIONS as f64;
    let payoff = |path: usize| {
        let mut random = fastrand::Rng::with_seed((option * PATHS + path) as u64);
        let (mut price, mut sum) = (1.0, 0.0);
        for _ in 0..STEPS {
            price *= 1.001 + 0.1 * (random.f64() - 0.5);
            sum += price;
        }
        (sum / STEPS as f64 - strike).max(0.0)
    };
    paths.map(payoff).sum()
}

impl Program for Options {
    /// Of sums in whatever order.
    const TOLERANCE: f64 = 1e-12;

    fn run(&self, by: &impl Loops) -> Vec<f64> {
        (0..OPTIONS).map(|option| by.sum(PATHS, |paths| payoffs(option, paths)) / PATHS as f64).collect()
    }

    fn run_in_region(&self, hive: &Hive) -> Option<Vec<f64>> {
        let prices = hive.spmd_map(hive.bees(), |bee| {
            let sum = |option| bee.all_reduce(payoffs(option, bee.split(0..PATHS)), |a, b| a + b);
            (0..OPTIONS).map(|option| sum(option) / PATHS as f64).collect()
        });
        // Every bee has all of them.
        prices.into_iter().next()
    }
}
