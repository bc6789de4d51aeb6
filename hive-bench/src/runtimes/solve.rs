//! Conjugate gradients by each runtime in its best form: all iterations in one region where there is a barrier, else by
//! its loops and sums.

use crate::kernels::sparse::System;
use crate::runtimes::loops::Loops;

/// A runtime that can do conjugate gradients.
pub(crate) trait Solve {
    /// So many iterations from where the system is. An error when the matrix turns out not to be positive definite.
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String>;
}

/// Runtimes without a barrier.
trait OnlyLoops: Loops {}

impl OnlyLoops for crate::runtimes::rayon::RayonPool {}
impl OnlyLoops for crate::runtimes::sequential::Sequential {}
#[cfg(feature = "forkunion")]
impl OnlyLoops for crate::runtimes::forkunion::ForkUnionPool {}

impl<L: OnlyLoops> Solve for L {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        system.by_loops(self, iterations)
    }
}
