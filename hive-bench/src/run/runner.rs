//! The runner: measures one runtime in one case at one team size, in a process of its own. The threads of a rival that
//! spin, its binding to CPUs and its environment end with the process.

use crate::cases;
use crate::catalog::{Case, RuntimeId};
use crate::measure::reference::{hand_over, round_trip};
use crate::record::{Job, Measured, Reference};
use crate::runtimes::chili::ChiliPool;
use crate::runtimes::hive::{HiveTeam, Settings};
use crate::runtimes::openmp;
use crate::runtimes::rayon::RayonPool;
use crate::runtimes::sequential::Sequential;
use crate::runtimes::std_scope::StdScope;
use crate::system::exit::{Failure, Outcome};

/// Does the job that the driver sent, and prints the samples.
pub(crate) fn main(job: &str) -> Outcome {
    let job = serde_json::from_str(job).map_err(|error| format!("cannot read the job: {error}"));
    let measured = job.and_then(|job| measure(&job));
    let text =
        |measured| serde_json::to_string(&measured).map_err(|error| format!("cannot write the samples: {error}"));
    answer(measured.and_then(text))
}

/// Prints the answer for the driver, or the reason why there is none.
pub(crate) fn answer(answer: Result<String, String>) -> Outcome {
    match answer {
        Ok(text) => {
            println!("{text}");
            Ok(())
        }
        Err(error) => {
            eprintln!("{error}");
            Err(Failure::Silent(1))
        }
    }
}

fn measure(job: &Job) -> Result<Measured, String> {
    let mut measured = Measured::default();
    // Before the runtime starts, because its waiting threads would share the CPUs with the references.
    if let [here, there, ..] = job.cpus[..] {
        let round_trips = round_trip::measure(here, there, job.budget.round_trips);
        measured.references.insert(Reference::RoundTrip, round_trips);
        // If the runtime's threads sleep, the hand-overs are measured later, in turn with its regions.
        if let Some(gap) = job.case.idleness().filter(|gap| !job.runtime.sleeps_after(*gap)) {
            let samples = job.budget.samples_after_gap(gap);
            let all_asked = hand_over::measure(job.place(here), job.place(there), gap, samples);
            all_asked.into_iter().for_each(|asked| measured.add_asked(asked));
        }
    }
    measured.loop_len = cases::numbers_alone(job);
    measured.delay = job.case.construct().map(|_| cases::delay_alone(&job.budget));
    with_team(job, &mut measured)?;
    Ok(measured)
}

pub(crate) fn with_team(job: &Job, measured: &mut Measured) -> Result<(), String> {
    let cpus = job.cpus.get(..job.threads).ok_or("more threads than CPUs")?;
    match job.runtime {
        _ if job.case == Case::RayonInterop => with_rayon_interop(cpus, job, measured),
        RuntimeId::HiveC => with_hive_c(cpus, job, measured),
        runtime if runtime.is_hive() => {
            HiveTeam::host(cpus, Settings::of(runtime, job.poll), |team| cases::run(team, job, measured))?
        }
        RuntimeId::RayonUnpinned => RayonPool::host_unpinned(cpus.len(), |team| cases::run(team, job, measured))?,
        RuntimeId::RayonWorker => RayonPool::host_worker(cpus, |team| cases::run(team, job, measured))?,
        RuntimeId::RayonOutside if job.case.is_task() => {
            RayonPool::host_far_outside(cpus, |team| cases::run(team, job, measured))?
        }
        RuntimeId::RayonOutside => RayonPool::host_outside(cpus, |team| cases::run(team, job, measured))?,
        RuntimeId::Chili => ChiliPool::host(cpus, |team| cases::tasks::run(team, job, measured)),
        RuntimeId::StdScope => StdScope::host(job.threads, |team| cases::run(team, job, measured)),
        RuntimeId::Sequential => Sequential::host(cpus, |team| cases::run(team, job, measured)),
        RuntimeId::ForkUnion => with_forkunion(cpus, job, measured),
        RuntimeId::SequentialC => with_sequential_c(cpus, job, measured),
        _ => with_openmp(job, measured),
    }
}

#[cfg(feature = "rayon-interop")]
fn with_rayon_interop(cpus: &[usize], job: &Job, measured: &mut Measured) -> Result<(), String> {
    use crate::runtimes::rayon_interop::HiveAndRayon;
    match job.runtime {
        RuntimeId::HiveBesideRayon => {
            HiveAndRayon::host_beside(cpus, |team| cases::rayon_interop(team, job, measured))?
        }
        _ => HiveAndRayon::host_on_hive(cpus, |team| cases::rayon_interop(team, job, measured))?,
    }
}

#[cfg(not(feature = "rayon-interop"))]
fn with_rayon_interop(_cpus: &[usize], _job: &Job, _measured: &mut Measured) -> Result<(), String> {
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
fn with_hive_c(cpus: &[usize], job: &Job, measured: &mut Measured) -> Result<(), String> {
    let settings = Settings::default();
    HiveTeam::host(cpus, settings, |team| cases::run(&mut crate::runtimes::in_c::InC(team), job, measured))?
}

#[cfg(not(openmp_compiled))]
fn with_hive_c(_cpus: &[usize], _job: &Job, _measured: &mut Measured) -> Result<(), String> {
    openmp::compiled()
}

#[cfg(openmp_compiled)]
fn with_sequential_c(cpus: &[usize], job: &Job, measured: &mut Measured) -> Result<(), String> {
    Sequential::host(cpus, |team| cases::run(&mut crate::runtimes::in_c::InC(team), job, measured))
}

#[cfg(not(openmp_compiled))]
fn with_sequential_c(_cpus: &[usize], _job: &Job, _measured: &mut Measured) -> Result<(), String> {
    openmp::compiled()
}

#[cfg(openmp_compiled)]
fn with_openmp(job: &Job, measured: &mut Measured) -> Result<(), String> {
    openmp::OpenMp::host(job.runtime, job.threads, |team| cases::run(team, job, measured))?
}

#[cfg(not(openmp_compiled))]
fn with_openmp(job: &Job, _measured: &mut Measured) -> Result<(), String> {
    openmp::availability(job.runtime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Budget, Given};
    use crate::system::cpus;

    #[test]
    fn every_task_case_gives_samples() {
        let cpus = cpus::in_order_of_use();
        let cpus = vec![cpus[0], *cpus.last().unwrap()];
        // CPU time is counted for all threads, none of which may end meanwhile; threads of other tests do.
        for case in Case::ALL.iter().copied().filter(|case| case.is_task() && !case.is_idle_use()) {
            for runtime in [RuntimeId::Hive, RuntimeId::RayonWorker, RuntimeId::RayonOutside] {
                let job = Job {
                    runtime,
                    case,
                    threads: 2,
                    cpus: cpus.clone(),
                    budget: Budget::QUICK,
                    checksum: None,
                    given: Given::default(),
                    poll: None,
                };
                // Measuring binds the thread to a CPU, so it gets a thread of its own.
                let measure = move || {
                    let mut measured = Measured::default();
                    with_team(&job, &mut measured).map(|()| measured.samples.len())
                };
                if runtime.can(case) {
                    let samples = std::thread::spawn(measure).join().unwrap();
                    assert!(samples.as_ref().is_ok_and(|samples| *samples > 0), "{runtime:?} {case:?}: {samples:?}");
                }
            }
        }
    }
}
