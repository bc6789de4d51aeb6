//! What is measured: faer's factorisations, and its product of matrices.

use faer::linalg::solvers::{Eigen, Llt, PartialPivLu, Qr, Svd};
use faer::{Mat, Par, Side};

/// The names of all cases.
pub(crate) const NAMES: [&str; 6] = ["qr", "lu", "cholesky", "svd", "evd", "matmul"];

/// A case for square matrices of so many rows: a function that runs it once and returns a number that depends on the
/// result. None: there is no such case.
pub(crate) fn prepare(name: &str, rows: usize) -> Option<Box<dyn Fn(Par) -> f64>> {
    let matrix = sample(rows);
    let on = |par: Par| faer::set_global_parallelism(par);
    Some(match name {
        "qr" => Box::new(move |par| {
            on(par);
            let qr = Qr::new(matrix.as_ref());
            (0..rows).map(|i| qr.thin_R()[(i, i)].abs()).sum()
        }),
        "lu" => Box::new(move |par| {
            on(par);
            let lu = PartialPivLu::new(matrix.as_ref());
            (0..rows).map(|i| lu.U()[(i, i)].abs()).sum()
        }),
        "cholesky" => {
            let positive = &matrix * matrix.transpose();
            Box::new(move |par| {
                on(par);
                let llt = Llt::new(positive.as_ref(), Side::Lower).expect("it is positive definite");
                (0..rows).map(|i| llt.L()[(i, i)]).sum()
            })
        }
        "svd" => Box::new(move |par| {
            on(par);
            let svd = Svd::new(matrix.as_ref()).expect("it converges");
            (0..rows).map(|i| svd.S()[i]).sum()
        }),
        "evd" => Box::new(move |par| {
            on(par);
            let evd = Eigen::new_from_real(matrix.as_ref()).expect("it converges");
            (0..rows).map(|i| evd.S()[i].norm()).sum()
        }),
        "matmul" => {
            let mut product = Mat::zeros(rows, rows);
            product.as_mut().fill(0.0);
            let product = std::cell::RefCell::new(product);
            Box::new(move |par| {
                let mut product = product.borrow_mut();
                let (a, b) = (matrix.as_ref(), matrix.transpose());
                faer::linalg::matmul::matmul(product.as_mut(), faer::Accum::Replace, a, b, 1.0, par);
                (0..rows).map(|i| product[(i, i)]).sum()
            })
        }
        _ => return None,
    })
}

/// A matrix of numbers that look random and are the same in every run, with a large diagonal.
fn sample(rows: usize) -> Mat<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    Mat::from_fn(rows, rows, |i, j| draw() + if i == j { 4.0 } else { 0.0 })
}
