//! The product of a sparse matrix and a vector. Every thread sums up its rows in the order of their columns, so the
//! answer is the same to the last bit.

use std::ops::Range;

use super::Placed;
use super::placed::{Matrix, hb_multiply_part};
use crate::kernels::check_all;
use crate::kernels::disjoint::Disjoint;
use crate::kernels::kernel::{Kernel, checksum};
use crate::matrix::Csr;
use crate::runtimes::Runtime;
use crate::runtimes::loops::Loops;

/// `y = A x`.
pub(crate) struct Product {
    pub(super) placed: Placed,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
}

impl Product {
    pub(crate) fn new(runtime: &mut impl Runtime, matrix: &Csr) -> Self {
        let placed = Placed::new(runtime, matrix);
        let y = placed.vector(runtime, |_| f64::NAN);
        let x = (0..matrix.columns()).map(|column| 1.0 + (column % 7) as f64 / 8.0).collect();
        Self { placed, x, y }
    }
}

impl Kernel for Product {
    /// Products.
    fn step<L: Loops>(&mut self, by: &mut L) {
        let Self { placed, x, y } = self;
        let y = Disjoint::new(y);
        by.blocks(placed.blocks(), |blocks| {
            if L::IN_C {
                let (matrix, Range { start, end }) = (Matrix::of(placed), blocks);
                // SAFETY: a matrix with its blocks, and vectors with a number for each column and for each row; a
                // loop hands out each block once.
                return unsafe { hb_multiply_part(&raw const matrix, x.as_ptr(), y.pointer(), start, end) };
            }
            for rows in blocks.map(|block| placed.rows(block)) {
                // SAFETY: a loop hands out each block once.
                let part = unsafe { y.part(rows.clone()) };
                placed.matrix.multiply(part, x, rows);
            }
        });
    }

    /// Whether the last product is right.
    fn answer(&self) -> Result<u64, String> {
        let expected = self.placed.matrix.product(&self.x);
        check_all("y of row", &self.y, |row| expected[row])?;
        Ok(checksum(self.y.iter().map(|y| y.to_bits())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::kernel::tests::answers_agree;
    use crate::matrix::Laplacian;
    use crate::runtimes::sequential::Sequential;
    use crate::runtimes::std_scope::StdScope;

    #[test]
    fn everybody_comes_to_the_same_answer() {
        let matrix = Laplacian::new(9).matrix();
        answers_agree(|| Product::new(&mut Sequential::<false>, &matrix), 2);
        let team = &mut StdScope { threads: 3 };
        let mut product = Product::new(team, &matrix);
        assert!(product.answer().unwrap_err().contains("y of row 0 is NaN"));
        product.run(team, 1);
        product.answer().unwrap();
        product.y[80] += 1.0;
        assert!(product.answer().unwrap_err().contains("y of row 80"));
    }
}
