//! A flow by the lattice Boltzmann method: nine directions on a square without edges (D2Q9). All collisions have one
//! rate.

use std::array;
use std::ops::Range;

use super::steps::Steps;
use super::{fewer_in_tests, numbers};

const SIDE: usize = 40;
const DIRECTIONS: [[f64; 2]; 9] =
    [[0., 0.], [1., 0.], [0., 1.], [-1., 0.], [0., -1.], [1., 1.], [-1., 1.], [-1., -1.], [1., -1.]];
/// From how many cells further on, in x and y, each direction comes: on such a square, from behind.
const ORIGINS: [[usize; 2]; 9] = {
    const BACK: usize = SIDE - 1;
    [[0, 0], [BACK, 0], [0, BACK], [1, 0], [0, 1], [BACK, BACK], [1, BACK], [1, 1], [BACK, 1]]
};
const WEIGHTS: [f64; 9] = [4. / 9., 1. / 9., 1. / 9., 1. / 9., 1. / 9., 1. / 36., 1. / 36., 1. / 36., 1. / 36.];
const RATE: f64 = 1.2;

#[derive(Default)]
pub(crate) struct Lattice;

impl Steps for Lattice {
    const ROWS: usize = SIDE;
    const WIDTH: usize = 9 * SIDE;
    const STEPS: usize = fewer_in_tests(60);

    fn start() -> Vec<f64> {
        let noise = numbers(SIDE * Self::WIDTH);
        WEIGHTS.iter().cycle().zip(noise).map(|(weight, noise)| weight * (1.0 + 0.1 * noise)).collect()
    }

    fn step(&self, _step: usize, from: &[f64], rows: Range<usize>, to: &mut [f64]) {
        for (y, row) in rows.zip(to.chunks_exact_mut(Self::WIDTH)) {
            for (x, to) in row.chunks_exact_mut(9).enumerate() {
                let cell: [f64; 9] = array::from_fn(|q| {
                    let [dx, dy] = ORIGINS[q];
                    from[(y + dy) % SIDE * Self::WIDTH + (x + dx) % SIDE * 9 + q]
                });
                to.copy_from_slice(&collided(&cell));
            }
        }
    }
}

/// What collisions make of a cell.
fn collided(cell: &[f64; 9]) -> [f64; 9] {
    let density: f64 = cell.iter().sum();
    let velocity = [0, 1].map(|axis| {
        cell.iter().zip(&DIRECTIONS).map(|(part, direction)| part * direction[axis]).sum::<f64>() / density
    });
    let squared = velocity[0] * velocity[0] + velocity[1] * velocity[1];
    array::from_fn(|q| {
        let along = 3.0 * (DIRECTIONS[q][0] * velocity[0] + DIRECTIONS[q][1] * velocity[1]);
        let balance = WEIGHTS[q] * density * (1.0 + along + 0.5 * along * along - 1.5 * squared);
        cell[q] + RATE * (balance - cell[q])
    })
}
