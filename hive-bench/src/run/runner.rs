//! The runner: measures one runtime in one case at one team size, in a process of its own. The threads of a rival that
//! spin, its binding to CPUs and its environment end with the process.

use crate::catalog::RuntimeId;
use crate::measure::{hand_over, round_trip};
use crate::record::{Job, Measured, Reference};
use crate::runtimes::hive::HiveTeam;
#[cfg(cpp_compiled)]
use crate::runtimes::native::NativePool;
use crate::runtimes::rayon::RayonPool;
use crate::runtimes::sequential::Sequential;
use crate::runtimes::std_scope::StdScope;
use crate::runtimes::tasks::Tasks;
use crate::system::cpus;
use crate::{cases, runtimes};

/// Does the job that the driver sent.
pub(crate) fn measure(job: &Job) -> Result<Measured, String> {
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

/// A runtime that this build lacks says why.
fn with_team(job: &Job, measured: &mut Measured) -> Result<(), String> {
    let cpus = job.cpus.get(..job.threads).ok_or("more threads than CPUs")?;
    if job.runtime.is_sequential() {
        cpus::pin(cpus[0]);
    }
    match job.runtime {
        #[cfg(feature = "rayon-interop")]
        runtime if job.case == crate::catalog::Case::RayonInterop => {
            // rayon's workers are the hive's own threads, or those of a pool beside it, on the same CPUs.
            let is_beside = runtime == RuntimeId::HiveBesideRayon;
            let mut team = HiveTeam::new(RuntimeId::Hive, cpus, |builder| builder.host_rayon(!is_beside))?;
            let beside = is_beside.then(|| RayonPool::new(RuntimeId::RayonWorker, cpus, cpus[0])).transpose()?;
            cases::warm_up(&mut team, measured)?;
            measured.samples = cases::regions::rayon_interop(&mut team, beside.as_ref(), &job.budget)?;
            Ok(())
        }
        #[cfg(openmp_compiled)]
        RuntimeId::HiveC => {
            cases::run(&mut runtimes::hive::Team::<true>::new(job.runtime, cpus, |builder| builder)?, job, measured)
        }
        #[cfg(openmp_compiled)]
        RuntimeId::SequentialC => cases::run(&mut Sequential::<true>, job, measured),
        #[cfg(openmp_compiled)]
        runtime if runtime.is_openmp() => {
            cases::run(&mut runtimes::openmp::OpenMp::new(runtime, job.threads)?, job, measured)
        }
        #[cfg(feature = "forkunion")]
        RuntimeId::ForkUnion => cases::run(&mut runtimes::forkunion::ForkUnionPool::new(cpus)?, job, measured),
        runtime if runtime.is_rayon() => {
            // rayon wakes its first worker first. From the CPU of the last one the caller of tasks need not wait for
            // that, as in hive.
            let far = runtime == RuntimeId::RayonOutside && job.case.is_task();
            let caller = if far { cpus[cpus.len() - 1] } else { cpus[0] };
            cases::run(&mut RayonPool::new(runtime, cpus, caller)?, job, measured)
        }
        RuntimeId::Chili => joins(&mut runtimes::chili::pool(cpus), job, measured),
        #[cfg(feature = "forte")]
        RuntimeId::Forte => joins(&mut runtimes::forte::pool(cpus), job, measured),
        #[cfg(libfork_compiled)]
        RuntimeId::Libfork => joins(&mut NativePool::new(job.runtime, cpus)?, job, measured),
        #[cfg(cpp_compiled)]
        RuntimeId::Tbb | RuntimeId::Citor => cases::run(&mut NativePool::new(job.runtime, cpus)?, job, measured),
        RuntimeId::StdScope => cases::run(&mut StdScope { threads: job.threads }, job, measured),
        RuntimeId::Sequential => cases::run(&mut Sequential::<false>, job, measured),
        runtime if runtime.is_hive() && runtime != RuntimeId::HiveC => {
            let mut team = HiveTeam::new(runtime, cpus, |builder| builder.poll(job.poll))?;
            cases::run(&mut team, job, measured)?;
            match team.hive.stats().total().rescues {
                0 => Ok(()),
                rescues => Err(format!("{rescues} tasks were found only by --poll: no bee had been woken for them")),
            }
        }
        runtime => runtimes::availability(runtime),
    }
}

/// A team that has no regions.
fn joins(team: &mut impl Tasks, job: &Job, measured: &mut Measured) -> Result<(), String> {
    measured.samples = cases::tasks::samples(team, job)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Case;
    use crate::record::{Budget, Given};

    #[test]
    fn every_task_case_gives_samples() {
        let cpus = cpus::in_order_of_use();
        let cpus = vec![cpus[0], *cpus.last().unwrap()];
        // CPU time is counted for all threads, none of which may end meanwhile; threads of other tests do.
        for case in Case::ALL.iter().copied().filter(|case| case.is_task() && case.family() != "idle-use") {
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
