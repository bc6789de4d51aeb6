//! Rayon's sorts, and a quicksort by joins.

use rayon::prelude::*;

use super::{Case, Iteration, case, timed};
use crate::numbers::Numbers;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("par-sort", "par_sort of 150,000 numbers", || sort(150_000, |numbers| numbers.par_sort())),
        case("par-sort-unstable", "par_sort_unstable of 300,000 numbers", || {
            sort(300_000, |numbers| numbers.par_sort_unstable())
        }),
        case("quicksort", "a quicksort of 150,000 numbers by join, down to parts of 64", || sort(150_000, quicksort)),
    ]
}

fn sort(length: usize, by: fn(&mut [u64])) -> Iteration {
    let numbers = Numbers::list(5, length);
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let mut copy = numbers.clone();
    Box::new(move || {
        copy.copy_from_slice(&numbers);
        let (time, ()) = timed(|| by(&mut copy));
        assert!(copy == sorted, "the numbers are in order");
        time
    })
}

fn quicksort(numbers: &mut [u64]) {
    if numbers.len() <= 64 {
        numbers.sort_unstable();
        return;
    }
    let middle = partition(numbers);
    let (less, rest) = numbers.split_at_mut(middle);
    rayon::join(|| quicksort(less), || quicksort(&mut rest[1..]));
}

/// Puts a number where it belongs, those below it before it and the others behind it. Returns where it is.
fn partition(numbers: &mut [u64]) -> usize {
    let last = numbers.len() - 1;
    // The middle one of three numbers comes last and divides the others.
    let mut samples = [0, numbers.len() / 2, last];
    samples.sort_unstable_by_key(|&i| numbers[i]);
    numbers.swap(samples[1], last);
    let pivot = numbers[last];
    let mut below = 0;
    for i in 0..last {
        let number = numbers[i];
        numbers.swap(below, i);
        below += usize::from(number < pivot);
    }
    numbers.swap(below, last);
    below
}
