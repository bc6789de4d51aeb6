//! What a kernel is: data, and steps over it that any runtime can do.

use std::hash::{DefaultHasher, Hasher};

use crate::runtimes::loops::Loops;

/// Data, and steps over it. The answer does not depend on which thread does which part of a step.
pub(crate) trait Kernel {
    /// A step: one parallel loop or more. The team of `by` hands the indices out, and says whether the bodies of the
    /// loops are those in Rust or those in C (`c/kernels`).
    fn step<L: Loops>(&mut self, by: &mut L);

    /// So many steps.
    fn run(&mut self, by: &mut impl Loops, steps: u64) {
        (0..steps).for_each(|_| self.step(by));
    }

    /// How many units a step has; the figure of the case is the time of one unit.
    fn units(&self) -> u64 {
        1
    }

    /// All bits of the answer, for comparison with another's; an error when it is wrong by itself.
    fn answer(&self) -> Result<u64, String>;
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
    #[cfg(openmp_compiled)]
    use crate::runtimes::hive::tests::with_team;
    use crate::runtimes::sequential::Sequential;
    use crate::runtimes::std_scope::StdScope;

    /// Three threads, and C where there is one, come to the same bits as plain loops.
    pub(crate) fn answers_agree<K: Kernel>(new: impl Fn() -> K + Sync, steps: u64) {
        let mut plain = new();
        plain.run(&mut Sequential::<false>, steps);
        let (answer, units) = (plain.answer().unwrap(), plain.units());
        assert_ne!(new().answer(), Ok(answer), "the steps leave no trace");

        let mut threads = new();
        threads.run(&mut StdScope { threads: 3 }, steps);
        assert_eq!((threads.answer(), threads.units()), (Ok(answer), units));

        #[cfg(openmp_compiled)]
        {
            let mut in_c = new();
            in_c.run(&mut Sequential::<true>, steps);
            assert_eq!((in_c.answer(), in_c.units()), (Ok(answer), units));
            with_team::<true, _>(|team| {
                let mut in_c = new();
                in_c.run(team, steps);
                assert_eq!((in_c.answer(), in_c.units()), (Ok(answer), units));
            });
        }
    }
}
