//! Conjugate gradients: all iterations in one region, two sums and a barrier each.

use hive::Bee;

use crate::kernels::sparse::{Scalars, Shares, System};
use crate::runtimes::solve::{OneRegion, Solve, in_one_region};
use crate::runtimes::team_thread::TeamThread;

use super::HiveTeam;

impl Solve for HiveTeam {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        in_one_region::<false>(self, system, iterations)
    }
}

impl OneRegion for HiveTeam {
    fn iterate<const IN_C: bool>(
        &mut self,
        shares: &Shares<'_>,
        begin: Scalars,
        iterations: u64,
    ) -> Result<Scalars, String> {
        let ends = self.hive.spmd_map(self.threads, |bee| {
            // SAFETY: the bees of this region, and nobody else.
            #[expect(unsafe_code, reason = "several bees write the vectors")]
            let end = unsafe { shares.iterate::<IN_C>(bee, begin, iterations) };
            end
        });
        // The same for all.
        ends.into_iter().next().expect("a team has a bee")
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
