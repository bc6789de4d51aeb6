//! What is done with a team to measure it: one function a case, the same for every runtime.

mod callers;
mod constructs;
mod cpu;
mod idle;
mod kernels;
mod pending_tasks;
pub(crate) mod regions;
pub(crate) mod tasks;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::catalog::Case;
use crate::kernels::{check, roots};
use crate::measure::timing::{self, Samples};
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::loops::Loops;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;

pub(crate) use constructs::delay_alone;
pub(crate) use kernels::expected_checksum;

/// Measures the job's case with the team that is up and running.
pub(crate) fn run(team: &mut (impl Runtime + Loops + Tasks), job: &Job, measured: &mut Measured) -> Result<(), String> {
    warm_up(team, measured)?;
    let budget = &job.budget;
    measured.samples = match job.case {
        Case::Region => regions::region(team, budget, measured),
        Case::Reduce => regions::reduce(team, budget)?,
        Case::Barrier => timing::batches(budget, |times| team.barriers(times)),
        Case::AlternatingSizes => regions::alternating_sizes(team, budget, measured),
        Case::ResizeShrink => regions::resize(team, 1, budget).map(|[shrinks, ..]| shrinks)?,
        Case::ResizeGrow => regions::resize(team, 1, budget).map(|[.., grows]| grows)?,
        Case::FieldMetg => regions::metg(team, budget)?,
        Case::CpuIdle => cpu::idle(team, budget)?,
        Case::CpuParked => cpu::parked(team, budget)?,
        case if case.construct().is_some() => constructs::overhead(team, job, measured)?,
        case if case.is_kernel() => kernels::run(team, job)?,
        case if case.cold_loop().is_some() => idle::cold_loop(team, job, measured)?,
        case if case.is_of_callers() => callers::requests(team, job, measured)?,
        case if case.gap().is_some() => idle::region(team, job, measured)?,
        _ => tasks::samples(team, job)?,
    };
    Ok(())
}

/// How many numbers the case's loop adds up; `None` for cases whose work is not given as a time. Call it before there
/// is a team, whose waiting threads might share a core with the thread that finds out.
pub(crate) fn numbers_alone(job: &Job) -> Option<usize> {
    let work = job.case.work(job.threads)?;
    let first = job.cpus.first().copied();
    let finding_out = thread::spawn(move || {
        first.map(cpus::pin);
        roots::count_for(work)
    });
    finding_out.join().ok()
}

/// The same, found out earlier if possible.
fn numbers(job: &Job, measured: &Measured) -> Result<usize, String> {
    measured.loop_len.or_else(|| numbers_alone(job)).ok_or_else(|| "this case's work is not given as a time".to_owned())
}

/// Regions before anything is timed or looked at.
const WARM_UP: u64 = 100;

/// Wakes the team, and writes down where its threads ran.
pub(crate) fn warm_up(runtime: &mut impl Runtime, measured: &mut Measured) -> Result<(), String> {
    runtime.empty_regions(runtime.threads(), WARM_UP);
    measured.seen_on = verify_team(runtime)?;
    Ok(())
}

/// Wakes threads that have gone to sleep while the caller prepared something. What waking costs is measured in the idle
/// cases only.
fn awaken(runtime: &mut impl Runtime) {
    runtime.empty_regions(runtime.threads(), WARM_UP);
}

/// Checks that every thread runs exactly once. Returns on which CPUs they ran.
fn verify_team(runtime: &mut impl Runtime) -> Result<Vec<usize>, String> {
    let threads = runtime.threads();
    let runs: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let seen_on: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let unknown_ids = AtomicUsize::new(0);
    // Relaxed throughout: the end of the region orders all of it before the loads below.
    runtime.region(threads, |id| {
        runs.get(id).unwrap_or(&unknown_ids).fetch_add(1, Ordering::Relaxed);
        if let Some(cpu) = seen_on.get(id) {
            cpu.store(cpus::current().unwrap_or(usize::MAX), Ordering::Relaxed);
        }
    });
    let runs: Vec<usize> = runs.iter().map(|run| run.load(Ordering::Relaxed)).collect();
    if unknown_ids.into_inner() > 0 || runs.iter().any(|run| *run != 1) {
        return Err(format!("a region of {threads} threads ran them {runs:?} times"));
    }
    Ok(seen_on.into_iter().map(AtomicUsize::into_inner).collect())
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
            run(&mut StdScope { threads: 2 }, &job, &mut measured).unwrap();
            assert!(!measured.samples.is_empty(), "{case:?}");
        }
    }

    /// A team that forgets its last thread.
    struct Lazy;

    impl Runtime for Lazy {
        fn threads(&self) -> usize {
            3
        }

        fn region<F: Fn(usize) + Sync>(&mut self, threads: usize, body: F) {
            (0..threads - 1).for_each(body);
        }
    }

    #[test]
    fn a_missing_thread_is_found() {
        let error = verify_team(&mut Lazy).unwrap_err();
        assert!(error.contains("[1, 1, 0]"), "{error}");
    }
}
