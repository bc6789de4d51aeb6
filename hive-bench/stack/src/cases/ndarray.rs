//! ndarray's product of matrices, which is matrixmultiply's.

use ndarray::Array2;

use super::{Run, numbers};

pub(super) fn dot(rows: usize) -> Run {
    let mut draw = numbers();
    let matrix = Array2::from_shape_simple_fn((rows, rows), &mut draw);
    Box::new(move || matrix.dot(&matrix).diag().sum())
}
