//! Conjugate gradients: all iterations in one region, two sums and a barrier each.

use hive::Bee;

use crate::kernels::sparse::{Scalars, Steps, System};
use crate::runtimes::solve::Solve;
use crate::runtimes::team_thread::TeamThread;

use super::HiveTeam;

impl Solve for HiveTeam {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        let begin = system.scalars;
        system.scalars = in_one_region(self, &system.shares(), begin, iterations)?;
        Ok(())
    }
}

/// All iterations of a system, whose steps nobody else does meanwhile. Its blocks are as many as the team has bees.
pub(super) fn in_one_region(
    team: &HiveTeam,
    steps: &(impl Steps + Sync),
    begin: Scalars,
    iterations: u64,
) -> Result<Scalars, String> {
    let ends = team.hive.spmd_map(team.threads, |bee| {
        // SAFETY: the bees of this region, and nobody else.
        #[expect(unsafe_code, reason = "several bees write the vectors")]
        let end = unsafe { steps.iterate(bee, begin, iterations) };
        end
    });
    // The same for all.
    ends.into_iter().next().expect("a team has a bee")
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
