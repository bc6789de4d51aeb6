//! What a kernel is: data, and steps over it that any runtime can do.

use std::hash::{DefaultHasher, Hasher};

use crate::kernels::sparse::System;
use crate::runtimes::Runtime;
use crate::runtimes::loops::Loops;

/// Data, and steps over it. The answer does not depend on which thread does which part of a step.
pub(crate) trait Kernel {
    /// A step: one parallel loop or more. The bodies of the loops are in Rust or in C (`c/kernels`); the team of `by`
    /// hands the indices out.
    fn step<const IN_C: bool>(&mut self, by: &mut impl Loops);

    /// So many steps.
    fn run<const IN_C: bool>(&mut self, by: &mut impl Loops, steps: u64) {
        (0..steps).for_each(|_| self.step::<IN_C>(by));
    }

    /// How many units a step has; the figure of the case is the time of one unit.
    fn units(&self) -> u64 {
        1
    }

    /// All bits of the answer, for comparison with another's; an error when it is wrong by itself.
    fn answer(&self) -> Result<u64, String>;
}

/// A runtime that can run kernels: by loops of its own, or in C.
pub(crate) trait Kernels {
    /// So many steps.
    fn run(&mut self, kernel: &mut impl Kernel, steps: u64);

    /// So many iterations of conjugate gradients from where the system is, in the runtime's best form. An error when
    /// the matrix turns out not to be positive definite.
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String>;
}

impl<L: Loops + Runtime> Kernels for L {
    fn run(&mut self, kernel: &mut impl Kernel, steps: u64) {
        kernel.run::<false>(self, steps);
    }

    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        if L::SOLVES_IN_ONE_REGION {
            system.in_one_region::<false>(self, iterations)
        } else {
            system.by_loops(self, iterations)
        }
    }
}

/// A checksum of all bits, in order. It is a good hash, because in a simpler one equal changes at regular distances
/// would cancel each other.
pub(crate) fn checksum(bits: impl Iterator<Item = u64>) -> u64 {
    let mut hash = DefaultHasher::new();
    bits.for_each(|bits| hash.write_u64(bits));
    hash.finish()
}

/// For the tests of the kernels.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::runtimes::sequential::Sequential;
    use crate::runtimes::std_scope::StdScope;

    /// Three threads, and C where there is one, come to the same bits as plain loops.
    pub(crate) fn answers_agree<K: Kernel>(new: impl Fn() -> K, steps: u64) {
        let mut plain = new();
        plain.run::<false>(&mut Sequential, steps);
        let answer = plain.answer().unwrap();
        assert_ne!(new().answer(), Ok(answer), "the steps leave no trace");

        let mut threads = new();
        StdScope::host(3, |team| threads.run::<false>(team, steps));
        assert_eq!(threads.answer(), Ok(answer));
        assert_eq!(threads.units(), plain.units());

        #[cfg(openmp_compiled)]
        for threads in [1, 3] {
            let mut in_c = new();
            StdScope::host(threads, |team| in_c.run::<true>(team, steps));
            assert_eq!(in_c.answer(), Ok(answer), "{threads} threads");
            assert_eq!(in_c.units(), plain.units());
        }
    }
}
