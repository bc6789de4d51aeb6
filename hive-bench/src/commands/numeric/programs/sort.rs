//! Radix sort, from the lowest byte to the highest: for each byte a histogram of each block, a sum over all histograms,
//! and a loop that writes each number where it belongs. Numbers are scrambled and sorted several times.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Program, fewer_in_tests};
use crate::commands::numeric::loops::Loops;

const TIMES: usize = fewer_in_tests(8);
const NUMBERS: usize = 1 << 16;
const BLOCKS: usize = 16;
const BLOCK: usize = NUMBERS / BLOCKS;
const BINS: usize = 256;

#[derive(Default)]
pub(crate) struct Sort;

// The numbers are atomics, because several threads write into one array, each to places that only this program knows to
// be its own. They are read and written Relaxed, everywhere, which is as fast as plain numbers: a loop ends before the
// next one begins.

fn histogram(block: &[AtomicU32], shift: u32) -> [usize; BINS] {
    let mut counts = [0; BINS];
    block.iter().for_each(|number| counts[bin(number, shift)] += 1);
    counts
}

fn bin(number: &AtomicU32, shift: u32) -> usize {
    (number.load(Relaxed) >> shift) as usize % BINS
}

/// Where the first number of each bin of each block belongs.
fn places(counts: &[[usize; BINS]]) -> Vec<[usize; BINS]> {
    let (mut places, mut next) = (counts.to_vec(), 0);
    for bin in 0..BINS {
        for place in &mut places {
            next += std::mem::replace(&mut place[bin], next);
        }
    }
    places
}

fn scatter(block: &[AtomicU32], shift: u32, mut places: [usize; BINS], to: &[AtomicU32]) {
    for number in block {
        let place = &mut places[bin(number, shift)];
        to[*place].store(number.load(Relaxed), Relaxed);
        *place += 1;
    }
}

fn scramble(number: &AtomicU32) {
    number.store((number.load(Relaxed) ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b1), Relaxed);
}

impl Program for Sort {
    fn run(&self, by: &impl Loops) -> Vec<f64> {
        let new = || (0..NUMBERS as u32).map(AtomicU32::new).collect::<Vec<_>>();
        let (mut from, mut to, mut counts) = (new(), new(), vec![[0; BINS]; BLOCKS]);
        for _ in 0..TIMES {
            by.each(NUMBERS, |range| from[range].iter().for_each(scramble));
            for shift in [0, 8, 16, 24] {
                let block = |block: usize| &from[block * BLOCK..][..BLOCK];
                by.rows(&mut counts, 1, |blocks, counts| {
                    blocks.zip(counts).for_each(|(number, counts)| *counts = histogram(block(number), shift));
                });
                let places = places(&counts);
                by.each(BLOCKS, |blocks| blocks.for_each(|number| scatter(block(number), shift, places[number], &to)));
                (from, to) = (to, from);
            }
        }
        from.into_iter().map(|number| number.into_inner().into()).collect()
    }
}
