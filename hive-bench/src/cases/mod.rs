//! What is done with a team to measure it: one function a case, the same for every runtime.

mod callers;
mod constructs;
mod cpu;
mod idle;
mod kernels;
mod pending_tasks;
mod regions;
mod samples;
pub(crate) mod tasks;
mod warm_up;

use crate::catalog::Case;
use crate::kernels::kernel::Kernels;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::tasks::Tasks;

pub(crate) use constructs::delay_alone;
pub(crate) use kernels::expected_checksum;
pub(crate) use samples::numbers_alone;

/// Measures the job's case with the team that is up and running.
pub(crate) fn run(
    runtime: &mut (impl Runtime + Kernels + Tasks),
    job: &Job,
    measured: &mut Measured,
) -> Result<(), String> {
    warm_up::warm_up(runtime, measured)?;
    let budget = &job.budget;
    measured.samples = match job.case {
        Case::Region => regions::region(runtime, budget, measured),
        Case::Reduce => regions::reduce(runtime, budget)?,
        Case::Barrier => regions::barrier(runtime, budget)?,
        Case::AlternatingSizes => regions::alternating_sizes(runtime, budget, measured),
        Case::ResizeShrink => regions::resize(runtime, budget)?.0,
        Case::ResizeGrow => regions::resize(runtime, budget)?.1,
        Case::FieldMetg => regions::metg(runtime, budget)?,
        Case::CpuIdle => cpu::idle(runtime, budget)?,
        Case::CpuParked => cpu::parked(runtime, budget)?,
        case if case.construct().is_some() => constructs::overhead(runtime, job, measured)?,
        case if case.is_kernel() => kernels::run(runtime, job)?,
        case if case.cold_loop().is_some() => idle::cold_loop(runtime, job, measured)?,
        case if case.is_of_callers() => callers::requests(runtime, job, measured)?,
        case if case.gap().is_some() => idle::region(runtime, job, measured)?,
        _ => tasks::samples(runtime, job)?,
    };
    Ok(())
}

/// The same for hive and rayon in one program, for which there is a single case.
#[cfg(feature = "rayon-interop")]
pub(crate) fn rayon_interop(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    warm_up::warm_up(runtime, measured)?;
    measured.samples = regions::rayon_interop(runtime, &job.budget)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::record::{Budget, Given};
    use crate::runtimes::std_scope::StdScope;

    #[test]
    fn every_case_that_threads_can_do_gives_samples() {
        let runtime = RuntimeId::StdScope;
        // The long cases are left to the smoke test.
        let short = |case: &Case| {
            let long = case.family() == "jacobi" || case.is_of_loops() || case.triad_len() == Some(1 << 22);
            runtime.can(*case) && !long
        };
        let mut budget = Budget::QUICK;
        let given = Given::prepare(None, &[Case::Cg], &mut budget).unwrap();
        for case in Case::ALL.iter().copied().filter(short) {
            let job = Job {
                runtime,
                case,
                threads: 2,
                cpus: vec![0, 0],
                budget,
                checksum: None,
                given: given.clone(),
                poll: None,
            };
            let mut measured = Measured::default();
            StdScope::host(2, |team| run(team, &job, &mut measured)).unwrap();
            assert!(!measured.samples.is_empty(), "{case:?}");
        }
    }
}
