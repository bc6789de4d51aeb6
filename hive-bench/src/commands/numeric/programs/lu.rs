//! LU factorisation of a dense matrix without pivoting: a loop over the rows below each pivot, which get fewer.

use hive::{Hive, Parts};

use super::{Program, fewer_in_tests, numbers};
use crate::commands::numeric::loops::Loops;

const SIDE: usize = 16 * fewer_in_tests(16);

pub(crate) struct Lu(Vec<f64>);

impl Default for Lu {
    /// A large diagonal makes pivoting needless.
    fn default() -> Self {
        let mut matrix = numbers(SIDE * SIDE);
        matrix.iter_mut().step_by(SIDE + 1).for_each(|x| *x += SIDE as f64);
        Self(matrix)
    }
}

/// Subtracts so much of the pivot's row from this one that its element below the pivot vanishes, and keeps the factor
/// there.
fn eliminate(pivot: usize, pivots: &[f64], row: &mut [f64]) {
    let factor = row[pivot] / pivots[pivot];
    row[pivot] = factor;
    row[pivot + 1..].iter_mut().zip(&pivots[pivot + 1..]).for_each(|(x, y)| *x -= factor * y);
}

impl Program for Lu {
    fn run(&self, by: &impl Loops) -> Vec<f64> {
        let mut matrix = self.0.clone();
        for pivot in 0..SIDE - 1 {
            let (above, below) = matrix.split_at_mut((pivot + 1) * SIDE);
            let pivots = &above[pivot * SIDE..];
            by.rows(below, SIDE, |_, rows| rows.chunks_exact_mut(SIDE).for_each(|row| eliminate(pivot, pivots, row)));
        }
        matrix
    }

    fn run_in_region(&self, hive: &Hive) -> Option<Vec<f64>> {
        let mut matrix = self.0.clone();
        let rows = Parts::rows(&mut matrix, SIDE, SIDE);
        hive.spmd(hive.bees(), |bee| {
            for pivot in 0..SIDE - 1 {
                {
                    let pivots = rows.part(bee, pivot);
                    // Not in turn: what a processor fetches ahead at the end of a row would be another bee's.
                    let mut own = rows.parts_mut(bee, bee.split(pivot + 1..SIDE));
                    own.chunks_exact_mut(SIDE).for_each(|row| eliminate(pivot, &pivots, row));
                }
                bee.barrier();
            }
        });
        drop(rows);
        Some(matrix)
    }
}
