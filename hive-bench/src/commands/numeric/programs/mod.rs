//! The programs: what each does, written once for all runtimes, and most of them once more for one region of a hive.

pub(super) mod decode;
pub(super) mod heat;
pub(super) mod lattice;
pub(super) mod lu;
pub(super) mod options;
pub(super) mod product;
pub(super) mod red_black;
pub(super) mod sort;
pub(super) mod steps;
pub(super) mod triangle;
pub(super) mod wavefront;

use hive::Hive;

use crate::catalog::named;
use crate::commands::numeric::loops::Loops;

/// What is made once is the data that stays the same.
pub(crate) trait Program: Default {
    /// How far an answer may be from that of the plain loops, as a share of its largest number: 0 is the same bits.
    const TOLERANCE: f64 = 0.0;

    /// The program from its beginning to its answer, as loop after loop.
    fn run(&self, by: &impl Loops) -> Vec<f64>;

    /// The same in one region with barriers, if it has been written so.
    fn run_in_region(&self, _hive: &Hive) -> Option<Vec<f64>> {
        None
    }
}

named! {
    /// Which there are.
    Name {
        Decode "decode" "A transformer's decode step: norms, products of a matrix and a vector, attention";
        Heat "heat" "Heat in a rod, in explicit steps";
        Lattice "lattice" "A flow by the lattice Boltzmann method, D2Q9";
        Lu "lu" "LU factorisation without pivoting";
        Options "options" "Prices of options by Monte Carlo";
        Product "product" "Products of matrices of 64 x 64";
        RedBlack "red-black" "Poisson's equation by red-black Gauss-Seidel with SOR";
        Sort "sort" "Radix sort";
        Triangle "triangle" "A sparse triangular system, level by level";
        Wavefront "wavefront" "A sweep over a field by anti-diagonals";
    }
}

/// How often something is done, which is less often in a build for tests.
const fn fewer_in_tests(times: usize) -> usize {
    if cfg!(debug_assertions) { times.div_ceil(10) } else { times }
}

/// Numbers from -0.5 to 0.5, always the same.
fn numbers(len: usize) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..len).map(|_| random.f64() - 0.5).collect()
}

/// A matrix whose product with a vector is about as large as the vector.
fn matrix(rows: usize, columns: usize) -> Vec<f64> {
    let scale = (12.0 / columns as f64).sqrt();
    numbers(rows * columns).iter().map(|number| scale * number).collect()
}
