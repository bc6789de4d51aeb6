//! Conjugate gradients by each runtime in its best form: all iterations in one region where there is a barrier, else by
//! its loops and sums.

use std::sync::Mutex;

use crate::kernels::sparse::{Scalars, Shares, System};
use crate::runtimes::Runtime;
use crate::runtimes::team_thread::{InRegion, Sums};

/// A runtime that can do conjugate gradients.
pub(crate) trait Solve {
    /// So many iterations from where the system is. An error when the matrix turns out not to be positive definite.
    fn solve(&mut self, system: &mut System, iterations: u64) -> Result<(), String>;
}

/// A runtime whose threads can wait for one another in a region.
pub(crate) trait OneRegion {
    /// All iterations of a system, which nobody else uses meanwhile. Its blocks are as many as the team has threads.
    fn iterate<const IN_C: bool>(
        &mut self,
        shares: &Shares<'_>,
        begin: Scalars,
        iterations: u64,
    ) -> Result<Scalars, String>;
}

/// `solve` for these runtimes, with the steps in Rust or in C.
pub(crate) fn in_one_region<const IN_C: bool>(
    team: &mut impl OneRegion,
    system: &mut System,
    iterations: u64,
) -> Result<(), String> {
    let begin = system.scalars;
    system.scalars = team.iterate::<IN_C>(&system.shares(), begin, iterations)?;
    Ok(())
}

/// `OneRegion::iterate` for a team that has only a barrier.
pub(crate) fn iterate_by_barrier<const IN_C: bool>(
    team: &mut impl Runtime,
    barrier: impl Fn() + Sync,
    shares: &Shares<'_>,
    begin: Scalars,
    iterations: u64,
) -> Result<Scalars, String> {
    let threads = team.threads();
    let sums = Sums::new(threads);
    let end = Mutex::new(Ok(begin));
    team.region(threads, |id| {
        let thread = InRegion::new(id, &sums, &barrier);
        // SAFETY: the threads of this region, and nobody else.
        #[expect(unsafe_code, reason = "several threads write the vectors")]
        let outcome = unsafe { shares.iterate::<IN_C>(&thread, begin, iterations) };
        if id == 0 {
            *end.lock().expect("nobody panics with it") = outcome;
        }
    });
    end.into_inner().expect("nobody panics with it")
}
