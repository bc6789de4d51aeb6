//! One runtime, one case, one team size, in a process of its own: so that a rival's spinning
//! threads, its place on the CPUs and its environment end with it.

use std::process::ExitCode;

use crate::cases;
use crate::catalog::{Case, RuntimeId};
use crate::reference::{hand_over, round_trip};
use crate::results::{Job, Measured, Reference};
use crate::runtimes::chili::ChiliPool;
use crate::runtimes::hive::{HiveTeam, Waiting};
use crate::runtimes::openmp;
use crate::runtimes::rayon::RayonPool;
use crate::runtimes::sequential::Sequential;
use crate::runtimes::std_scope::StdScope;

/// Does the job that the parent sent; the answer is the samples.
pub(crate) fn main(job: &str) -> ExitCode {
    let job = serde_json::from_str(job).map_err(|error| format!("cannot read the job: {error}"));
    let measured = job.and_then(|job| measure(&job));
    answer(measured.and_then(|measured| {
        serde_json::to_string(&measured).map_err(|error| format!("cannot write the samples: {error}"))
    }))
}

/// Tells the parent, or why not.
pub(crate) fn answer(answer: Result<String, String>) -> ExitCode {
    match answer {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(job: &Job) -> Result<Measured, String> {
    let mut measured = Measured::default();
    // Before there is a runtime: its waiting threads would share the CPUs with the references.
    if let [here, there, ..] = job.cpus[..] {
        let round_trips = round_trip::measure(here, there, job.effort.round_trips);
        measured.references.insert(Reference::RoundTrip, round_trips);
        // Where the runtime's threads sleep, the hand-overs are measured in turn with its regions.
        if let Some(gap) = job.case.gap().filter(|gap| !job.runtime.sleeps_after(*gap)) {
            let samples = job.effort.samples_after_gap(gap);
            let hand_overs = hand_over::measure(here, there, gap, samples);
            measured.references.insert(Reference::HandOver, hand_overs);
        }
    }
    measured.delay = job.case.construct().map(|_| cases::delay_alone(&job.effort));
    with_team(job, &mut measured)?;
    Ok(measured)
}

pub(crate) fn with_team(job: &Job, measured: &mut Measured) -> Result<(), String> {
    let cpus = job.cpus.get(..job.members).ok_or("more bees than CPUs")?;
    match job.runtime {
        _ if job.case == Case::Guest => with_guest(cpus, job, measured),
        runtime if runtime.is_hive() => {
            HiveTeam::host(cpus, Waiting::of(runtime, job.poll), |team| cases::run(team, job, measured))?
        }
        RuntimeId::RayonWorker => RayonPool::host_worker(cpus, |team| cases::run(team, job, measured))?,
        RuntimeId::RayonOutside if job.case.is_task() => {
            RayonPool::host_far_outside(cpus, |team| cases::run(team, job, measured))?
        }
        RuntimeId::RayonOutside => RayonPool::host_outside(cpus, |team| cases::run(team, job, measured))?,
        RuntimeId::Chili => ChiliPool::host(cpus, |team| cases::tasks::run(team, job, measured)),
        RuntimeId::StdScope => StdScope::host(job.members, |team| cases::run(team, job, measured)),
        RuntimeId::Sequential => Sequential::host(cpus, |team| cases::run(team, job, measured)),
        RuntimeId::ForkUnion => with_forkunion(cpus, job, measured),
        RuntimeId::SequentialC => with_sequential_c(cpus, job, measured),
        _ => with_openmp(job, measured),
    }
}

#[cfg(feature = "guest")]
fn with_guest(cpus: &[usize], job: &Job, measured: &mut Measured) -> Result<(), String> {
    use crate::runtimes::guest::HiveAndRayon;
    match job.runtime {
        RuntimeId::HiveBesideRayon => HiveAndRayon::host_beside(cpus, |team| cases::guest(team, job, measured))?,
        _ => HiveAndRayon::host_guest(cpus, |team| cases::guest(team, job, measured))?,
    }
}

#[cfg(not(feature = "guest"))]
fn with_guest(_cpus: &[usize], _job: &Job, _measured: &mut Measured) -> Result<(), String> {
    Err(crate::runtimes::CANNOT.to_owned())
}

#[cfg(feature = "forkunion")]
fn with_forkunion(cpus: &[usize], job: &Job, measured: &mut Measured) -> Result<(), String> {
    crate::runtimes::forkunion::ForkUnionPool::host(cpus, |team| cases::run(team, job, measured))?
}

#[cfg(not(feature = "forkunion"))]
fn with_forkunion(_cpus: &[usize], _job: &Job, _measured: &mut Measured) -> Result<(), String> {
    crate::runtimes::forkunion::availability()
}

#[cfg(openmp_compiled)]
fn with_sequential_c(cpus: &[usize], job: &Job, measured: &mut Measured) -> Result<(), String> {
    crate::runtimes::sequential_c::SequentialC::host(cpus, |team| cases::run(team, job, measured))
}

#[cfg(not(openmp_compiled))]
fn with_sequential_c(_cpus: &[usize], _job: &Job, _measured: &mut Measured) -> Result<(), String> {
    openmp::compiled()
}

#[cfg(openmp_compiled)]
fn with_openmp(job: &Job, measured: &mut Measured) -> Result<(), String> {
    openmp::OpenMp::host(job.runtime, job.members, |team| cases::run(team, job, measured))?
}

#[cfg(not(openmp_compiled))]
fn with_openmp(job: &Job, _measured: &mut Measured) -> Result<(), String> {
    openmp::availability(job.runtime)
}
