//! What is done with a team to measure it: one function a case, the same for every runtime.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::catalog::Case;
use crate::cpus;
use crate::effort::Effort;
use crate::kernels::jacobi;
use crate::kernels::kernel::Kernels;
use crate::results::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::constructs::Constructs;
use crate::runtimes::solve::Solve;
use crate::runtimes::tasks::Tasks;

mod constructs;
mod cpu;
mod hot;
mod idle;
mod idle_use;
mod join;
mod kernel;
mod landing;
mod loops;
mod resize;
mod sparse;
mod spawn;
pub(crate) mod tasks;
mod wake;

pub(crate) use constructs::delay_alone;

/// Regions before anything is timed or looked at.
const WARM_UP: u64 = 100;

/// Measures the job's case with the team that is up and running.
pub(crate) fn run(
    runtime: &mut (impl Constructs + Runtime + Kernels + Solve + Tasks),
    job: &Job,
    measured: &mut Measured,
) -> Result<(), String> {
    warm_up(runtime, measured)?;
    let effort = &job.effort;
    match job.case {
        Case::Region => hot::region(runtime, effort, measured),
        Case::Reduce => hot::reduce(runtime, effort, measured),
        Case::Barrier => hot::barrier(runtime, effort, measured),
        Case::Alternate => hot::alternate(runtime, effort, measured),
        Case::Shrink => resize::shrink(runtime, effort, measured),
        Case::Grow => resize::grow(runtime, effort, measured),
        Case::CpuIdle => cpu::idle(runtime, effort, measured),
        Case::CpuParked => cpu::parked(runtime, effort, measured),
        Case::Triad4k | Case::Triad64k | Case::TriadMemory => kernel::triad(runtime, job, measured),
        Case::Jacobi => kernel::jacobi(runtime, job, measured),
        Case::JacobiBarrier => kernel::jacobi_barrier(runtime, job, measured),
        Case::Spmv => sparse::spmv(runtime, job, measured),
        Case::Cg => sparse::cg(runtime, job, measured),
        case if case.construct().is_some() => constructs::overhead(runtime, job, measured),
        case if case.is_of_loops() => loops::steps(runtime, job, measured),
        case if case.gap().is_some() => idle::region(runtime, job, measured),
        _ => tasks::run(runtime, job, measured),
    }
}

/// The same for two runtimes in one program, which have one case.
#[cfg(feature = "guest")]
pub(crate) fn guest(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    warm_up(runtime, measured)?;
    hot::guest(runtime, &job.effort, measured)
}

fn warm_up(runtime: &mut impl Runtime, measured: &mut Measured) -> Result<(), String> {
    runtime.empty_regions(runtime.members(), WARM_UP);
    measured.seen_on = verify_team(runtime)?;
    Ok(())
}

/// Brings up bees that have gone to sleep while the caller prepared something: what that takes is for the idle cases to show.
fn awaken(runtime: &mut impl Runtime) {
    runtime.empty_regions(runtime.members(), WARM_UP);
}

/// What the case's answer must be, where that must be computed: once, by the parent.
pub(crate) fn expected_checksum(case: Case, effort: &Effort) -> Option<u64> {
    if case.is_jacobi() {
        Some(jacobi::expected_checksum(effort.jacobi_steps))
    } else {
        loops::expected_checksum(case, effort)
    }
}

/// Whether every bee runs exactly once; where they ran.
fn verify_team(runtime: &mut impl Runtime) -> Result<Vec<usize>, String> {
    let members = runtime.members();
    let runs: Vec<_> = (0..members).map(|_| AtomicUsize::new(0)).collect();
    let seen_on: Vec<_> = (0..members).map(|_| AtomicUsize::new(0)).collect();
    let strangers = AtomicUsize::new(0);
    // Relaxed throughout: the end of the region orders all of it before the loads below.
    runtime.region(members, |id| match runs.get(id) {
        Some(run) => {
            run.fetch_add(1, Ordering::Relaxed);
            seen_on[id].store(cpus::current().unwrap_or(usize::MAX), Ordering::Relaxed);
        }
        None => {
            strangers.fetch_add(1, Ordering::Relaxed);
        }
    });
    let runs: Vec<usize> = runs.iter().map(|run| run.load(Ordering::Relaxed)).collect();
    if strangers.into_inner() > 0 || runs.iter().any(|run| *run != 1) {
        return Err(format!("a region of {members} bees ran them {runs:?} times"));
    }
    Ok(seen_on.into_iter().map(AtomicUsize::into_inner).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::kernels::sparse::Given;
    use crate::runtimes::std_scope::StdScope;

    /// A team that forgets its last bee.
    struct Lazy;

    impl Runtime for Lazy {
        fn members(&self) -> usize {
            3
        }

        fn region<F: Fn(usize) + Sync>(&mut self, members: usize, body: F) {
            (0..members - 1).for_each(body);
        }

        fn sums(&mut self, _times: u64) -> f64 {
            0.0
        }
    }

    #[test]
    fn a_missing_member_is_found() {
        let error = verify_team(&mut Lazy).unwrap_err();
        assert!(error.contains("[1, 1, 0]"), "{error}");
    }

    #[test]
    fn every_task_case_gives_samples() {
        let cpus = crate::cpus::in_order_of_use();
        let cpus = vec![cpus[0], *cpus.last().unwrap()];
        // The threads whose CPU time is counted must not end: other tests' do.
        for case in Case::ALL.iter().copied().filter(|case| case.is_task() && !case.is_idle_use()) {
            for runtime in [RuntimeId::Hive, RuntimeId::RayonWorker, RuntimeId::RayonOutside] {
                let job = Job {
                    runtime,
                    case,
                    members: 2,
                    cpus: cpus.clone(),
                    effort: Effort::QUICK,
                    checksum: None,
                    given: Given::default(),
                    poll: None,
                };
                // On a thread of its own, which is bound to a CPU and ends.
                let measure = move || {
                    let mut measured = Measured::default();
                    crate::child::with_team(&job, &mut measured).map(|()| measured.samples.len())
                };
                if runtime.can(case) {
                    let samples = std::thread::spawn(measure).join().unwrap();
                    assert!(samples.as_ref().is_ok_and(|samples| *samples > 0), "{runtime:?} {case:?}: {samples:?}");
                }
            }
        }
    }

    #[test]
    fn every_case_that_threads_can_do_gives_samples() {
        let runtime = RuntimeId::StdScope;
        // The long ones are the smoke test's.
        let short = |case: &Case| {
            runtime.can(*case) && !case.is_jacobi() && !case.is_of_loops() && case.triad_len() != Some(1 << 22)
        };
        let mut effort = Effort::QUICK;
        let given = Given::prepare(None, &[Case::Cg], &mut effort).unwrap();
        for case in Case::ALL.iter().copied().filter(short) {
            let job = Job {
                runtime,
                case,
                members: 2,
                cpus: vec![0, 0],
                effort,
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
