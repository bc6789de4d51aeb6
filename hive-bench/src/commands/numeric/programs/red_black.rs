//! Poisson's equation on a square by Gauss-Seidel with SOR, the red cells and the black ones in turn. Each colour has
//! an array of its own.

use std::ops::Range;

use super::fewer_in_tests;
use super::steps::Steps;

/// Cells along an edge.
const SIDE: usize = 192;
/// In a row, one colour has half of the cells, and one at each end that is never written.
const WIDTH: usize = SIDE / 2 + 2;
/// Of the step of SOR.
const FACTOR: f64 = 1.8;

#[derive(Default)]
pub(crate) struct RedBlack;

impl Steps for RedBlack {
    const ROWS: usize = SIDE + 2;
    const WIDTH: usize = WIDTH;
    const STEPS: usize = fewer_in_tests(300);

    fn written(_step: usize) -> Range<usize> {
        1..SIDE + 1
    }

    fn step(&self, step: usize, from: &[f64], rows: Range<usize>, to: &mut [f64]) {
        for (y, row) in rows.zip(to.chunks_exact_mut(WIDTH)) {
            let [above, here, below] = [y - 1, y, y + 1].map(|y| &from[y * WIDTH..][..WIDTH]);
            // The neighbours on the left and on the right have the same place in their row, and one beside it.
            let shift = (y + step) % 2;
            let (left, right) = (&here[shift..], &here[shift + 1..]);
            for x in 1..WIDTH - 1 {
                let mean = 0.25 * (above[x] + below[x] + left[x - 1] + right[x - 1]);
                row[x] += FACTOR * (mean - row[x]);
            }
        }
    }
}
