//! What `c/kernels/sparse.c` is called with.

use super::Placed;

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
        let matrix = placed.matrix();
        let [bounds, starts] = [placed.bounds(), matrix.starts()].map(<[usize]>::as_ptr);
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

#[expect(unsafe_code, reason = "functions in C")]
unsafe extern "C" {
    pub(super) fn hb_multiply_part(matrix: *const Matrix, x: *const f64, y: *mut f64, begin: usize, end: usize);
    pub(super) fn hb_multiply_and_dot_part(matrix: *const Matrix, vectors: *const Vectors, block: usize) -> f64;
    pub(super) fn hb_advance_part(matrix: *const Matrix, vectors: *const Vectors, step: f64, block: usize) -> f64;
    pub(super) fn hb_turn_part(matrix: *const Matrix, vectors: *const Vectors, kept: f64, block: usize);
}
