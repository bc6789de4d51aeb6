//! Conjugate gradients: all iterations in one region, two sums and a barrier each.

use hive::Bee;

use crate::kernels::sparse::System;
use crate::runtimes::solve::Solve;
use crate::runtimes::team_thread::TeamThread;

use super::HiveTeam;

impl Solve for HiveTeam {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        let (begin, shares) = (system.scalars, system.shares());
        let ends = self.hive.spmd_map(self.threads, |bee| {
            // SAFETY: the bees of this region, and nobody else.
            #[expect(unsafe_code, reason = "several bees write the vectors")]
            let end = unsafe { shares.iterate(bee, begin, iterations) };
            end
        });
        // The same for all.
        system.scalars = ends.into_iter().next().expect("a team has a bee")?;
        Ok(())
    }
}

impl TeamThread for Bee<'_> {
    fn id(&self) -> usize {
        self.id()
    }

    fn barrier(&self) {
        self.barrier();
    }

    fn sum(&self, number: f64) -> f64 {
        self.all_reduce(number, |a, b| a + b)
    }
}
