//! A matrix as a team works on it, in Rust and in `c/kernels/sparse.c`.

use std::ops::Range;

use crate::kernels::disjoint::placed_by;
use crate::matrix::Csr;
use crate::runtimes::Runtime;

/// A matrix and its blocks of rows, one a thread.
pub(crate) struct Placed {
    pub(super) matrix: Csr,
    /// Where each block begins, and where the last one ends.
    bounds: Vec<usize>,
}

impl Placed {
    /// A copy of `matrix`. Each thread has touched the memory first on which it will work.
    pub(crate) fn new(runtime: &mut impl Runtime, matrix: &Csr) -> Self {
        let bounds = blocks(matrix, runtime.threads());
        let numbers: Vec<usize> = bounds.iter().map(|row| matrix.starts()[*row]).collect();
        let indices = placed_by(runtime, &numbers, |number| matrix.indices()[number]);
        let values = placed_by(runtime, &numbers, |number| matrix.values()[number]);
        let mut starts = placed_by(runtime, &bounds, |row| matrix.starts()[row]);
        starts.push(matrix.nonzeros());
        Self { matrix: Csr::from_arrays(matrix.columns(), starts, indices, values), bounds }
    }

    pub(crate) const fn blocks(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The rows of a block.
    pub(crate) fn rows(&self, block: usize) -> Range<usize> {
        self.bounds[block]..self.bounds[block + 1]
    }

    /// A vector with a number for each row, touched first by the thread that has the row.
    pub(crate) fn vector(&self, runtime: &mut impl Runtime, value: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        placed_by(runtime, &self.bounds, value)
    }
}

/// The bounds of so many blocks of rows. Each block ends with the row in which its share of the nonzeros ends.
fn blocks(matrix: &Csr, threads: usize) -> Vec<usize> {
    let share = |thread_id: usize| thread_id as u128 * matrix.nonzeros() as u128 / threads as u128;
    let row_of = |number: u128| matrix.starts().partition_point(|start| (*start as u128) < number);
    let mut bounds: Vec<usize> = (0..threads).map(|thread_id| row_of(share(thread_id))).collect();
    bounds.push(matrix.rows());
    bounds
}

/// A matrix as C sees it. It is used no longer than the one that it is made of.
#[repr(C)]
pub(super) struct Matrix {
    blocks: usize,
    bounds: *const usize,
    starts: *const usize,
    indices: *const u32,
    values: *const f64,
}

impl Matrix {
    pub(super) fn of(placed: &Placed) -> Self {
        let matrix = &placed.matrix;
        let [bounds, starts] = [&placed.bounds[..], matrix.starts()].map(<[usize]>::as_ptr);
        let (indices, values) = (matrix.indices().as_ptr(), matrix.values().as_ptr());
        Self { blocks: placed.blocks(), bounds, starts, indices, values }
    }
}

/// What conjugate gradients write.
#[repr(C)]
pub(super) struct Vectors {
    pub(super) x: *mut f64,
    pub(super) r: *mut f64,
    pub(super) p: *mut f64,
    pub(super) q: *mut f64,
}

unsafe extern "C" {
    pub(super) fn hb_multiply_part(matrix: *const Matrix, x: *const f64, y: *mut f64, begin: usize, end: usize);
    pub(super) fn hb_multiply_and_dot_part(matrix: *const Matrix, vectors: *const Vectors, block: usize) -> f64;
    pub(super) fn hb_advance_part(matrix: *const Matrix, vectors: *const Vectors, step: f64, block: usize) -> f64;
    pub(super) fn hb_turn_part(matrix: *const Matrix, vectors: *const Vectors, kept: f64, block: usize);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Entry, Laplacian, Symmetry};
    use crate::runtimes::std_scope::StdScope;

    #[test]
    fn blocks_have_about_equally_many_nonzeros() {
        // One full row, then rows of one.
        let entries: Vec<_> = (0..100).map(|column| Entry { row: 0, column, value: 1.0 }).collect();
        let ones = (1..101).map(|row| Entry { row, column: 0, value: 1.0 });
        let matrix =
            Csr::from_entries(101, 100, Symmetry::General, &entries.into_iter().chain(ones).collect::<Vec<_>>());
        assert_eq!(blocks(&matrix, 1), [0, 101]);
        assert_eq!(blocks(&matrix, 2), [0, 1, 101]);
        assert_eq!(blocks(&matrix, 4), [0, 1, 1, 51, 101]);
    }

    #[test]
    fn blocks_of_a_matrix_with_fewer_rows_than_threads() {
        let matrix = Laplacian::new(1).matrix();
        let bounds = blocks(&matrix, 4);
        assert_eq!((bounds[0], bounds[4]), (0, 1));
        assert!(bounds.is_sorted());
        let empty = Csr::from_entries(3, 3, Symmetry::General, &[]);
        assert_eq!(blocks(&empty, 2), [0, 0, 3]);
    }

    #[test]
    fn the_copy_is_the_same_matrix() {
        let matrix = Laplacian::new(7).matrix();
        for threads in [1, 2, 5] {
            let team = &mut StdScope { threads };
            let placed = Placed::new(team, &matrix);
            assert_eq!(placed.matrix, matrix);
            assert_eq!(placed.blocks(), threads);
            assert_eq!(placed.vector(team, |row| row as f64 / 2.0)[48], 24.0);
        }
    }
}
