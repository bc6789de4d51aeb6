//! LU factorisation of a dense matrix without pivoting: a loop over the rows below each pivot, which get fewer.

use hive::{Hive, Parts};

use super::{Program, fewer_in_tests, numbers};
use crate::commands::numeric::loops::Loops;

const SIDE: usize = 16 * fewer_in_tests(16);

#[derive(Default)]
pub(crate) struct Lu;

/// A large diagonal makes pivoting needless.
fn matrix() -> Vec<f64> {
    let mut matrix = numbers(SIDE * SIDE);
    matrix.iter_mut().step_by(SIDE + 1).for_each(|x| *x += SIDE as f64);
    matrix
}

/// Takes as much of the pivot's row off this one that its element below the pivot vanishes; the factor is kept there.
fn eliminate(pivot: usize, pivots: &[f64], row: &mut [f64]) {
    let factor = row[pivot] / pivots[pivot];
    row[pivot] = factor;
    row[pivot + 1..].iter_mut().zip(&pivots[pivot + 1..]).for_each(|(x, y)| *x -= factor * y);
}

impl Program for Lu {
    fn run(&self, by: &impl Loops) -> Vec<f64> {
        let mut matrix = matrix();
        for pivot in 0..SIDE - 1 {
            let (above, below) = matrix.split_at_mut((pivot + 1) * SIDE);
            let pivots = &above[pivot * SIDE..];
            by.rows(below, SIDE, |_, rows| rows.chunks_exact_mut(SIDE).for_each(|row| eliminate(pivot, pivots, row)));
        }
        matrix
    }

    fn run_in_region(&self, hive: &Hive) -> Option<Vec<f64>> {
        let mut matrix = matrix();
        let rows = Parts::rows(&mut matrix, SIDE, SIDE);
        hive.spmd(hive.bees(), |bee| {
            for pivot in 0..SIDE - 1 {
                {
                    let pivots = rows.part(bee, pivot);
                    // Each bee has every so-manieth row, so that those below a pivot are about as many for each.
                    let own = (bee.id()..SIDE).step_by(bee.bees()).filter(|row| *row > pivot);
                    own.for_each(|row| eliminate(pivot, &pivots, &mut rows.part_mut(bee, row)));
                }
                bee.barrier();
            }
        });
        drop(rows);
        Some(matrix)
    }
}
