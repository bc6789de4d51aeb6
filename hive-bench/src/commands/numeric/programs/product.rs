//! Products of matrices of 64 x 64, one after the other, each of the last one and a matrix that stays the same.

use std::ops::Range;

use super::steps::Steps;
use super::{fewer_in_tests, matrix};

const SIDE: usize = 64;

pub(crate) struct Product {
    factor: Vec<f64>,
}

impl Default for Product {
    fn default() -> Self {
        Self { factor: matrix(SIDE, SIDE) }
    }
}

impl Steps for Product {
    const ROWS: usize = SIDE;
    const WIDTH: usize = SIDE;
    const STEPS: usize = fewer_in_tests(100);

    fn step(&self, _step: usize, from: &[f64], rows: Range<usize>, to: &mut [f64]) {
        let from = &from[rows.start * SIDE..rows.end * SIDE];
        for (from, to) in from.chunks_exact(SIDE).zip(to.chunks_exact_mut(SIDE)) {
            to.fill(0.0);
            for (from, row) in from.iter().zip(self.factor.chunks_exact(SIDE)) {
                to.iter_mut().zip(row).for_each(|(to, factor)| *to += from * factor);
            }
        }
    }
}
