//! A flow through a field from two of its sides, as transport codes sweep over it: each cell needs the one on its left
//! and the one above, so that the cells of an anti-diagonal are a loop, of one cell up to `COLUMNS`.

use std::ops::Range;

use super::steps::Steps;
use super::{fewer_in_tests, numbers};

const COLUMNS: usize = 512;
const LINES: usize = fewer_in_tests(3000);
/// How much the cells absorb, which repeats itself.
const PATTERN: usize = 64;

pub(crate) struct Wavefront {
    absorption: Vec<f64>,
}

impl Default for Wavefront {
    fn default() -> Self {
        Self { absorption: numbers(PATTERN).iter().map(|number| number + 0.5).collect() }
    }
}

impl Steps for Wavefront {
    /// A cell for each column, as the last diagonal has left it, after what comes in from the left.
    const ROWS: usize = COLUMNS + 1;
    const STEPS: usize = COLUMNS + LINES - 1;

    fn start() -> Vec<f64> {
        vec![1.0; Self::ROWS]
    }

    fn written(step: usize) -> Range<usize> {
        (step + 1).saturating_sub(LINES) + 1..step.min(COLUMNS - 1) + 2
    }

    fn step(&self, step: usize, from: &[f64], rows: Range<usize>, to: &mut [f64]) {
        let inflow = from[rows.start - 1..rows.end].windows(2);
        for ((column, to), inflow) in rows.zip(to).zip(inflow) {
            let absorption = self.absorption[(5 * column + 3 * step) % PATTERN];
            *to = ((0.1 + inflow[0] + 0.5 * inflow[1]) / (1.5 + absorption)).max(0.0);
        }
    }
}
