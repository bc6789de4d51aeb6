//! What `c/kernels/sparse.c` is called with, and conjugate gradients by it.

use std::marker::PhantomData;

use super::{Placed, Scalars, Steps, System};
use crate::kernels::in_c::{InC, compiled_twice};

/// A matrix as C sees it.
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
        Self {
            blocks: placed.blocks(),
            bounds,
            starts,
            indices: matrix.indices().as_ptr(),
            values: matrix.values().as_ptr(),
        }
    }
}

/// What conjugate gradients write.
#[derive(Clone, Copy)]
#[repr(C)]
struct Vectors {
    x: *mut f64,
    r: *mut f64,
    p: *mut f64,
    q: *mut f64,
}

compiled_twice! {
    fn iterate_in_c = hb_openmp_conjugate_gradients, hb_plain_conjugate_gradients(
        iterations: u64, matrix: *const Matrix, vectors: *const Vectors, state: *mut Scalars,
        broken: *mut f64) -> std::ffi::c_int;
}

#[expect(unsafe_code, reason = "functions in C")]
unsafe extern "C" {
    #[link_name = "hb_openmp_multiply_and_dot_part"]
    fn multiply_and_dot(matrix: *const Matrix, vectors: *const Vectors, block: usize) -> f64;
    #[link_name = "hb_openmp_advance_part"]
    fn advance(matrix: *const Matrix, vectors: *const Vectors, step: f64, block: usize) -> f64;
    #[link_name = "hb_openmp_turn_part"]
    fn turn(matrix: *const Matrix, vectors: *const Vectors, kept: f64, block: usize);
}

/// A system whose steps are in C, those that OpenMP's threads do.
pub(crate) struct SharesInC<'a> {
    matrix: Matrix,
    vectors: Vectors,
    system: PhantomData<&'a mut System>,
}

// SAFETY: the pointers are used by the steps only, whose callers promise not to collide.
#[expect(unsafe_code, reason = "pointers are not Sync by themselves")]
unsafe impl Sync for SharesInC<'_> {}

#[expect(unsafe_code, reason = "functions in C")]
impl Steps for SharesInC<'_> {
    unsafe fn multiply(&self, block: usize) -> f64 {
        // SAFETY: a square matrix, its blocks, and vectors with a number for each row; and the caller's promise.
        unsafe { multiply_and_dot(&raw const self.matrix, &raw const self.vectors, block) }
    }

    unsafe fn advance(&self, block: usize, step: f64) -> f64 {
        // SAFETY: as above.
        unsafe { advance(&raw const self.matrix, &raw const self.vectors, step, block) }
    }

    unsafe fn redirect(&self, block: usize, kept: f64) {
        // SAFETY: as above.
        unsafe { turn(&raw const self.matrix, &raw const self.vectors, kept, block) };
    }
}

impl System {
    /// What the threads of one region work on, as `shares`, with steps in C.
    pub(crate) fn shares_in_c(&mut self) -> SharesInC<'_> {
        SharesInC { matrix: Matrix::of(&self.placed), vectors: self.vectors(), system: PhantomData }
    }

    fn vectors(&mut self) -> Vectors {
        Vectors { x: self.x.as_mut_ptr(), r: self.r.as_mut_ptr(), p: self.p.as_mut_ptr(), q: self.q.as_mut_ptr() }
    }

    /// All iterations in one region of OpenMP, or by plain loops.
    pub(crate) fn in_c(&mut self, by: InC, iterations: u64) -> Result<(), String> {
        let matrix = Matrix::of(&self.placed);
        let vectors = self.vectors();
        let mut broken = 0.0;
        // SAFETY: a square matrix, its blocks, and vectors with a number for each row; nobody else uses what is
        // written.
        #[expect(unsafe_code, reason = "loops in C")]
        let stopped = unsafe {
            iterate_in_c(by, iterations, &raw const matrix, &raw const vectors, &raw mut self.scalars, &raw mut broken)
        };
        if stopped == 0 { Ok(()) } else { Err(self.scalars.breakdown(broken)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Csr, Entry, Laplacian, Symmetry};
    use crate::runtimes::sequential::Sequential;
    use crate::runtimes::std_scope::StdScope;

    const BOTH: [InC; 2] = [InC::Plain, InC::OpenMp { threads: 3 }];

    #[test]
    fn plain_loops_in_c_come_to_the_same_bits() {
        let matrix = Laplacian::new(13).matrix();
        let mut system = System::new(&mut Sequential, &matrix);
        system.by_loops(&mut Sequential, 20).unwrap();
        for by in BOTH {
            // One block: only one thread has anything to add up.
            let mut in_c = System::new(&mut Sequential, &matrix);
            in_c.in_c(by, 12).unwrap();
            in_c.in_c(by, 8).unwrap();
            assert_eq!(in_c.x, system.x, "{by:?}");
            assert_eq!(in_c.scalars, system.scalars, "{by:?}");
        }
    }

    #[test]
    fn a_team_in_c_solves_too() {
        let matrix = Laplacian::new(13).matrix();
        let mut system = StdScope::host(3, |team| System::new(team, &matrix));
        system.in_c(InC::OpenMp { threads: 3 }, 1000).unwrap();
        assert!(system.x.iter().all(|x| (x - 1.0).abs() < 1e-13), "{:?}", system.x);
    }

    #[test]
    fn what_is_not_positive_definite_is_reported() {
        let entries =
            [1.0, -2.0].map(|value| Entry { row: u32::from(value < 0.0), column: u32::from(value < 0.0), value });
        let matrix = Csr::from_entries(2, 2, Symmetry::Symmetric, &entries);
        for by in BOTH {
            let error = System::new(&mut Sequential, &matrix).in_c(by, 5).unwrap_err();
            assert!(error.contains("iteration 1: p.Ap is -7e0"), "{by:?}: {error}");
        }
    }
}
