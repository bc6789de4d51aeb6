//! STREAM triad: `a[i] = b[i] + s * c[i]`.

use crate::kernels::check_all;

/// `c/kernels/stream.c` has the same.
pub(crate) const SCALAR: f64 = 3.0;

/// Three arrays of one length.
pub(crate) struct Triad {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
}

/// One thread's part.
pub(crate) fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + SCALAR * c;
    }
}

/// What the first array that is read has.
pub(crate) fn a_at(i: usize) -> f64 {
    (i % 1024) as f64
}

/// What the second one has.
pub(crate) fn b_at(i: usize) -> f64 {
    (i % 37) as f64 * 0.5
}

impl Triad {
    pub(crate) fn check(&self) -> Result<(), String> {
        check_all("item", &self.a, |i| a_at(i) + SCALAR * b_at(i))
    }
}
