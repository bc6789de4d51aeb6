//! A product of two matrices in tiles, which threads take one by one. The answer does not depend on which thread
//! computes which tile, down to the last bit: every number of the product is added up in order.

use crate::kernels::disjoint::{Disjoint, placed};
use crate::kernels::kernel::{Kernel, checksum};
use crate::runtimes::{Runtime, loops::Loops};

/// Rows and columns. `c/kernels/matmul.c` has the same.
const SIDE: usize = 512;
/// A tile of each matrix takes 32 KiB.
const TILE: usize = 64;
const TILES: usize = SIDE / TILE;
/// Rows of the right matrix at a time: a row of the product is then read and written a fourth as often.
const UNROLL: usize = 4;
/// Doubles in a cache line. A loop over cache lines takes equally long wherever the compiler puts it. A loop over
/// single numbers takes up to 1.3 times as long, depending on the place.
const LINE: usize = 8;

pub(crate) struct Matmul {
    product: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Matmul {
    pub(crate) fn new(runtime: &mut impl Runtime) -> Self {
        let left = placed(runtime, SIDE * SIDE, |index| left_at(index / SIDE, index % SIDE));
        let right = placed(runtime, SIDE * SIDE, |index| right_at(index / SIDE, index % SIDE));
        Self { product: placed(runtime, SIDE * SIDE, |_| -1.0), left, right }
    }
}

fn left_at(row: usize, column: usize) -> f64 {
    ((3 * row + 5 * column) % 17) as f64 / 17.0
}

fn right_at(row: usize, column: usize) -> f64 {
    ((7 * row + 2 * column) % 23) as f64 / 23.0
}

/// Computes the tile with this top row and first column.
fn multiply_tile(product: &Disjoint<'_>, left: &[f64], right: &[f64], top: usize, side: usize) {
    for first in (0..SIDE).step_by(TILE) {
        for i in top..top + TILE {
            let start = i * SIDE + side;
            // SAFETY: a tile is handed out once, and each row of it is used by itself.
            let out = unsafe { product.part(start..start + TILE) };
            if first == 0 {
                out.fill(0.0);
            }
            let factors = left[i * SIDE + first..][..TILE].as_chunks::<UNROLL>().0;
            for (factors, k) in factors.iter().zip((first..).step_by(UNROLL)) {
                add_rows(out, factors, &right[k * SIDE + side..]);
            }
        }
    }
}

/// Adds the beginnings of four rows with a factor each.
fn add_rows(out: &mut [f64], factors: &[f64; UNROLL], rows: &[f64]) {
    for (line, out) in out.as_chunks_mut::<LINE>().0.iter_mut().enumerate() {
        let mut sums = *out;
        for (row, factor) in factors.iter().enumerate() {
            let numbers = &rows[row * SIDE + line * LINE..][..LINE];
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += factor * number;
            }
        }
        *out = sums;
    }
}

unsafe extern "C" {
    fn hb_matmul_part(product: *mut f64, left: *const f64, right: *const f64, begin: usize, end: usize);
}

impl Kernel for Matmul {
    fn step<L: Loops>(&mut self, by: &mut L) {
        let (product, left, right) = (Disjoint::new(&mut self.product), &self.left[..], &self.right[..]);
        by.dynamic(TILES * TILES, 1, |tiles| {
            if L::IN_C {
                let (left, right) = (left.as_ptr(), right.as_ptr());
                // SAFETY: three whole matrices, and a loop hands out each tile once.
                return unsafe { hb_matmul_part(product.pointer(), left, right, tiles.start, tiles.end) };
            }
            for tile in tiles {
                multiply_tile(&product, left, right, tile / TILES * TILE, tile % TILES * TILE);
            }
        });
    }

    fn answer(&self) -> Result<u64, String> {
        Ok(checksum(self.product.iter().map(|number| number.to_bits())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::runtimes::sequential::Sequential;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        answers_agree(|| Matmul::new(&mut Sequential::<false>), 1);
    }

    #[test]
    fn a_number_is_a_row_times_a_column() {
        let mut matmul = Matmul::new(&mut Sequential::<false>);
        matmul.run(&mut Sequential::<false>, 2);
        for (row, column) in [(0, 0), (63, 64), (511, 130), (200, 511)] {
            let expected: f64 = (0..SIDE).map(|k| left_at(row, k) * right_at(k, column)).sum();
            assert_eq!(matmul.product[row * SIDE + column], expected);
        }
    }
}
