//! Parallel iterators over ranges and vectors, called by a thread outside of the pool.

use rayon::prelude::*;

use super::{Case, case, checked};
use crate::numbers::Numbers;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("sum", "par_iter().sum() of 2,000,000 numbers", || {
            let numbers = Numbers::list(1, 2_000_000);
            let numbers: Vec<u64> = numbers.into_iter().map(|x| x >> 32).collect();
            checked(numbers.iter().sum::<u64>(), move || numbers.par_iter().sum::<u64>())
        }),
        case("small-sums", "64 times par_iter().sum() of 2,000 numbers, in the pool", || {
            let numbers: Vec<u64> = Numbers::list(2, 2_000).into_iter().map(|x| x >> 32).collect();
            let sum = 64 * numbers.iter().sum::<u64>();
            checked(sum, move || rayon::scope(|_| (0..64).map(|_| numbers.par_iter().sum::<u64>()).sum::<u64>()))
        }),
        case("map-collect", "par_iter().map().collect() of 200,000 square roots into a vector", || {
            let numbers = Numbers::fractions(3, 200_000);
            let roots: Vec<f64> = numbers.iter().map(|x| x.sqrt()).collect();
            checked(roots, move || numbers.par_iter().map(|x| x.sqrt()).collect::<Vec<f64>>())
        }),
        case("filter-collect", "par_iter().filter().collect() of 200,000 numbers, of which half remain", || {
            let numbers = Numbers::list(4, 200_000);
            let even: Vec<u64> = numbers.iter().copied().filter(|x| x.is_multiple_of(2)).collect();
            checked(even, move || numbers.par_iter().copied().filter(|x| x.is_multiple_of(2)).collect::<Vec<u64>>())
        }),
        case("par-bridge", "2,000 items of a plain iterator by par_bridge, each of about 2 us", || {
            let expected = (0..2_000).map(collatz).sum::<u64>();
            checked(expected, || (0..2_000).par_bridge().map(collatz).sum::<u64>())
        }),
    ]
}

/// The steps of Collatz' sequence from twenty numbers: some 2 us.
fn collatz(first: u64) -> u64 {
    let steps = |mut x: u64| {
        let mut steps = 0;
        while x != 1 {
            x = if x.is_multiple_of(2) { x / 2 } else { 3 * x + 1 };
            steps += 1;
        }
        steps
    };
    (1..=20).map(|i| steps(20 * first + i)).sum()
}
