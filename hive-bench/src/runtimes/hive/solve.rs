//! Conjugate gradients: all iterations in one region, two sums and a barrier each.

use crate::kernels::sparse::System;
use crate::runtimes::solve::{InRegion, Solve, Sums};

use super::HiveTeam;

impl Solve for HiveTeam {
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String> {
        let sums = Sums::new(self.members);
        let (begin, shares) = (system.scalars, system.shares());
        let ends = self.hive.spmd_map(self.members, |bee| {
            let member = InRegion::new(bee.id(), &sums, || bee.barrier());
            // SAFETY: the members of this region, and nobody else.
            #[expect(unsafe_code, reason = "several members write the vectors")]
            let end = unsafe { shares.iterate(&member, begin, iterations) };
            end
        });
        // The same for all.
        system.scalars = ends.into_iter().next().expect("a team has a member")?;
        Ok(())
    }
}
