//! Which function measures which case.

use super::warm_up::warm_up;
use super::{batches, callers, cold_for, constructs, cpu, idle, kernel, loops, resize, sparse, tasks};
use crate::catalog::Case;
use crate::kernels::jacobi;
use crate::kernels::kernel::Kernels;
use crate::record::{Budget, Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::callers::Callers;
use crate::runtimes::constructs::Constructs;
use crate::runtimes::solve::Solve;
use crate::runtimes::tasks::Tasks;

/// Measures the job's case with the team that is up and running.
pub(crate) fn run(
    runtime: &mut (impl Callers + Constructs + Runtime + Kernels + Solve + Tasks),
    job: &Job,
    measured: &mut Measured,
) -> Result<(), String> {
    warm_up(runtime, measured)?;
    let budget = &job.budget;
    match job.case {
        Case::Region => batches::region(runtime, budget, measured),
        Case::Reduce => batches::reduce(runtime, budget, measured),
        Case::Barrier => batches::barrier(runtime, budget, measured),
        Case::AlternatingSizes => batches::alternating_sizes(runtime, budget, measured),
        Case::ResizeShrink => resize::shrink(runtime, budget, measured),
        Case::ResizeGrow => resize::grow(runtime, budget, measured),
        Case::CpuIdle => cpu::idle(runtime, budget, measured),
        Case::CpuParked => cpu::parked(runtime, budget, measured),
        Case::Triad4k | Case::Triad64k | Case::TriadMemory => kernel::triad(runtime, job, measured),
        Case::Jacobi => kernel::jacobi(runtime, job, measured),
        Case::JacobiBarrier => kernel::jacobi_barrier(runtime, job, measured),
        Case::Spmv => sparse::spmv(runtime, job, measured),
        Case::Cg => sparse::cg(runtime, job, measured),
        case if case.construct().is_some() => constructs::overhead(runtime, job, measured),
        case if case.is_of_loops() => loops::steps(runtime, job, measured),
        case if case.cold_loop().is_some() => cold_for::sum(runtime, job, measured),
        case if case.is_of_callers() => callers::requests(runtime, job, measured),
        case if case.gap().is_some() => idle::region(runtime, job, measured),
        _ => tasks::run(runtime, job, measured),
    }
}

/// The same for hive and rayon in one program, for which there is a single case.
#[cfg(feature = "rayon-interop")]
pub(crate) fn rayon_interop(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    warm_up(runtime, measured)?;
    batches::rayon_interop(runtime, &job.budget, measured)
}

/// The right answer of the case, if it has to be computed. The driver does that once for all runners.
pub(crate) fn expected_checksum(case: Case, budget: &Budget) -> Option<u64> {
    if case.is_jacobi() {
        Some(jacobi::expected_checksum(budget.jacobi_steps))
    } else {
        loops::expected_checksum(case, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::record::Given;
    use crate::runtimes::std_scope::StdScope;

    #[test]
    fn every_case_that_threads_can_do_gives_samples() {
        let runtime = RuntimeId::StdScope;
        // The long cases are left to the smoke test.
        let short = |case: &Case| {
            runtime.can(*case) && !case.is_jacobi() && !case.is_of_loops() && case.triad_len() != Some(1 << 22)
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
