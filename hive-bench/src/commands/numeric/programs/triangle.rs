//! A sparse triangular system, level by level: the rows of a level need those of earlier levels only.

use std::ops::Range;

use super::{Program, fewer_in_tests, numbers};
use crate::commands::numeric::loops::Loops;

const LEVELS: usize = fewer_in_tests(800);
/// Rows in a level.
const ROWS: usize = 256;
/// Numbers in a row left of the diagonal, which is all ones.
const ENTRIES: usize = 6;

pub(crate) struct Triangle {
    /// A column and a value for each entry of each row after the first level, which has none.
    entries: Vec<[(usize, f64); ENTRIES]>,
    right: Vec<f64>,
}

impl Default for Triangle {
    /// The columns of a row are by chance in the four levels before its own.
    fn default() -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let mut entry = |row: usize| {
            let begin = row / ROWS * ROWS;
            (begin - 1 - random.usize(..begin.min(4 * ROWS)), 0.4 * (random.f64() - 0.5))
        };
        let entries = (ROWS..LEVELS * ROWS).map(|row| [(); ENTRIES].map(|()| entry(row))).collect();
        Self { entries, right: numbers(LEVELS * ROWS) }
    }
}

impl Triangle {
    /// Solves some rows; what is in `x` is the right-hand side before, and the solution after.
    fn solve(&self, solved: &[f64], rows: Range<usize>, x: &mut [f64]) {
        for (x, entries) in x.iter_mut().zip(&self.entries[rows.start - ROWS..rows.end - ROWS]) {
            *x -= entries.iter().map(|(column, value)| value * solved[*column]).sum::<f64>();
        }
    }
}

impl Program for Triangle {
    fn run(&self, by: &impl Loops) -> Vec<f64> {
        let mut x = self.right.clone();
        for first in (ROWS..LEVELS * ROWS).step_by(ROWS) {
            let (solved, rest) = x.split_at_mut(first);
            by.rows(&mut rest[..ROWS], 1, |rows, x| self.solve(solved, first + rows.start..first + rows.end, x));
        }
        x
    }
}
