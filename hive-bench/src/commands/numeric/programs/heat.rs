//! Heat in a rod, in explicit steps: the shortest loops of all, with next to nothing between them.

use std::ops::Range;

use super::fewer_in_tests;
use super::steps::Steps;

const CELLS: usize = 8192;

/// A cell at each end is never written.
#[derive(Default)]
pub(crate) struct Heat;

impl Steps for Heat {
    const ROWS: usize = CELLS + 2;
    const STEPS: usize = fewer_in_tests(1500);

    fn written(_step: usize) -> Range<usize> {
        1..CELLS + 1
    }

    fn step(&self, _step: usize, from: &[f64], rows: Range<usize>, to: &mut [f64]) {
        for (to, around) in to.iter_mut().zip(from[rows.start - 1..rows.end + 1].windows(3)) {
            *to = around[1] + 0.25 * (around[0] - 2.0 * around[1] + around[2]);
        }
    }
}
