//! A heat step on a square plate by Jacobi's method: every cell becomes the mean of its four
//! neighbours. The upper edge is hot, the other three are cold, and the plate begins patterned, so
//! that a row in the wrong place shows. The answer does not depend on which thread computes which row, down to
//! the last bit.

use std::ops::Range;

use crate::kernels::disjoint::Disjoint;
use crate::kernels::split;
use crate::runtimes::Runtime;
use crate::runtimes::sequential::Sequential;

/// Cells along an edge, the fixed border not counted.
const SIDE: usize = 512;
/// Cells in a row with its border.
const WIDTH: usize = SIDE + 2;

/// Two plates: steps go from one to the other and back.
pub(crate) struct Plates {
    even: Vec<f64>,
    odd: Vec<f64>,
}

impl Plates {
    pub(crate) fn new() -> Self {
        let mut plate = vec![0.0; WIDTH * WIDTH];
        plate[..WIDTH].fill(1.0);
        for row in 1..=SIDE {
            for column in 1..=SIDE {
                plate[row * WIDTH + column] = ((7 * row + 13 * column) % 32) as f64 / 32.0;
            }
        }
        Self { odd: plate.clone(), even: plate }
    }

    /// `steps` heat steps, a region each.
    pub(crate) fn run(&mut self, by: &mut impl Runtime, steps: u64) {
        let plates = self.shared();
        for step in 0..steps {
            // SAFETY: each thread has rows of its own, and a region is one step.
            by.blocks_in_region(SIDE, |rows| unsafe { sweep_part(&plates, step, rows) });
        }
    }

    /// The same in one region, a barrier each.
    pub(crate) fn run_in_one_region(&mut self, by: &mut impl Runtime, steps: u64) {
        let (plates, threads) = (self.shared(), by.threads());
        by.one_region(|thread| {
            for step in 0..steps {
                // SAFETY: `split` gives each thread rows of its own; the barrier keeps everybody in the same step.
                unsafe { sweep_part(&plates, step, split(thread.id(), threads, SIDE)) };
                thread.barrier();
            }
        });
    }

    fn shared(&mut self) -> [Disjoint<'_>; 2] {
        [Disjoint::new(&mut self.even), Disjoint::new(&mut self.odd)]
    }

    /// All bits of the plate that holds the result of `steps` steps.
    pub(crate) fn checksum(&self, steps: u64) -> u64 {
        let plate = if steps.is_multiple_of(2) { &self.even } else { &self.odd };
        plate.iter().fold(0, |sum, cell| sum.rotate_left(5) ^ cell.to_bits())
    }
}

/// The cells of some rows; the first row that is computed is 0, the border row above it does not count.
fn cells_of(rows: &Range<usize>) -> Range<usize> {
    (rows.start + 1) * WIDTH..(rows.end + 1) * WIDTH
}

/// Computes `rows`. `to` holds their cells, `from` the whole plate.
fn sweep(to: &mut [f64], from: &[f64], rows: Range<usize>) {
    for (out, row) in to.chunks_exact_mut(WIDTH).zip(rows) {
        let line = |row: usize| &from[row * WIDTH..(row + 1) * WIDTH];
        relax(out, [line(row), line(row + 1), line(row + 2)]);
    }
}

/// The same in one step, from the even plate to the odd one or back.
///
/// # Safety
/// Nobody else does these rows, and everybody is in the same step.
unsafe fn sweep_part([even, odd]: &[Disjoint<'_>; 2], step: u64, rows: Range<usize>) {
    let (from, to) = if step.is_multiple_of(2) { (even, odd) } else { (odd, even) };
    // SAFETY: the caller's promise.
    let to = unsafe { to.part(cells_of(&rows)) };
    // SAFETY: the caller's promise.
    let from = unsafe { from.shared(0..WIDTH * WIDTH) };
    sweep(to, from, rows);
}

/// A row becomes the means of its cells' neighbours, but for its first and last cell.
fn relax(out: &mut [f64], [up, here, down]: [&[f64]; 3]) {
    let inner = 1..out.len() - 1;
    let (left, right) = (&here[..inner.len()], &here[2..]);
    let neighbours = up[inner.clone()].iter().zip(&down[inner.clone()]).zip(left.iter().zip(right));
    for (cell, ((up, down), (left, right))) in out[inner].iter_mut().zip(neighbours) {
        *cell = 0.25 * (up + down + left + right);
    }
}

/// What `steps` steps must come out as.
pub(crate) fn expected_checksum(steps: u64) -> u64 {
    let mut plates = Plates::new();
    plates.run(&mut Sequential::<false>, steps);
    plates.checksum(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_becomes_the_mean_of_its_neighbours_and_the_border_stays() {
        let mut plates = Plates::new();
        plates.run(&mut Sequential::<false>, 1);
        let (from, to) = (plates.even, plates.odd);
        let at = |row: usize, column: usize| row * WIDTH + column;
        let mean = (from[at(4, 9)] + from[at(6, 9)] + from[at(5, 8)] + from[at(5, 10)]) / 4.0;
        assert_eq!(to[at(5, 9)], mean);
        assert_ne!(to[at(5, 9)], from[at(5, 9)]);
        for (row, column) in [(0, 9), (WIDTH - 1, 9), (5, 0), (5, WIDTH - 1)] {
            assert_eq!(to[at(row, column)], from[at(row, column)]);
        }
    }

    #[test]
    fn parts_give_the_same_bits() {
        let mut plates = Plates::new();
        for step in 0..3 {
            for rows in [0..7, 7..300, 300..SIDE] {
                // SAFETY: there is one thread.
                unsafe { sweep_part(&plates.shared(), step, rows) };
            }
        }
        assert_eq!(plates.checksum(3), expected_checksum(3));
        assert_ne!(expected_checksum(3), expected_checksum(4));
    }
}
