//! faer's factorisations, and its product of matrices.

use std::cell::RefCell;

use faer::linalg::solvers::{Eigen, Llt, PartialPivLu, Qr, Svd};
use faer::{Accum, Mat, Par, Side};

use super::{Run, numbers};

/// Tells faer how many threads to use: 1 for one, 0 for as many as there are in its pool.
pub(crate) fn set_threads(threads: usize) {
    faer::set_global_parallelism(if threads == 1 { Par::Seq } else { Par::rayon(threads) });
}

pub(super) fn qr(rows: usize) -> Run {
    let matrix = sample(rows);
    Box::new(move || {
        let qr = Qr::new(matrix.as_ref());
        (0..rows).map(|i| qr.thin_R()[(i, i)].abs()).sum()
    })
}

pub(super) fn lu(rows: usize) -> Run {
    let matrix = sample(rows);
    Box::new(move || {
        let lu = PartialPivLu::new(matrix.as_ref());
        (0..rows).map(|i| lu.U()[(i, i)].abs()).sum()
    })
}

pub(super) fn cholesky(rows: usize) -> Run {
    let matrix = sample(rows);
    let positive = &matrix * matrix.transpose();
    Box::new(move || {
        let llt = Llt::new(positive.as_ref(), Side::Lower).expect("it is positive definite");
        (0..rows).map(|i| llt.L()[(i, i)]).sum()
    })
}

pub(super) fn svd(rows: usize) -> Run {
    let matrix = sample(rows);
    Box::new(move || {
        let svd = Svd::new(matrix.as_ref()).expect("it converges");
        (0..rows).map(|i| svd.S()[i]).sum()
    })
}

pub(super) fn evd(rows: usize) -> Run {
    let matrix = sample(rows);
    Box::new(move || {
        let evd = Eigen::new_from_real(matrix.as_ref()).expect("it converges");
        (0..rows).map(|i| evd.S()[i].norm()).sum()
    })
}

pub(super) fn matmul(rows: usize) -> Run {
    let matrix = sample(rows);
    let product = RefCell::new(Mat::zeros(rows, rows));
    Box::new(move || {
        let mut product = product.borrow_mut();
        let (a, b) = (matrix.as_ref(), matrix.transpose());
        faer::linalg::matmul::matmul(product.as_mut(), Accum::Replace, a, b, 1.0, faer::get_global_parallelism());
        (0..rows).map(|i| product[(i, i)]).sum()
    })
}

/// A matrix with a large diagonal.
fn sample(rows: usize) -> Mat<f64> {
    let mut draw = numbers();
    Mat::from_fn(rows, rows, |i, j| draw() + if i == j { 4.0 } else { 0.0 })
}
