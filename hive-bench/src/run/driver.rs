//! The driver: runs the groups in rounds, one runner at a time and nothing else beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::catalog::{Case, RuntimeId};
use crate::cli::options::Options;
use crate::record::{Absent, Job, Measured, Outcome, Record};
use crate::run::own_process;
use crate::run::plan::{Group, Rounds};
use crate::runtimes::openmp;
use crate::system::{machine, progress};
use crate::{cases, runtimes};

/// Splits the wanted runtimes into those that are present and those that are absent, with the reason.
pub(crate) fn what_is_there(wanted: &[RuntimeId]) -> (Vec<RuntimeId>, Vec<Absent>) {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for &runtime in wanted {
        match runtimes::availability(runtime) {
            Ok(()) => present.push(runtime),
            Err(reason) => absent.push(Absent { runtime, reason }),
        }
    }
    (present, absent)
}

/// Runs all groups as often as the options say. The first round is always complete; when the time is over, no group of
/// a later one is begun. The second result is how many groups were to be run again then.
pub(crate) fn run(groups: &[Group], cpus: &[usize], options: &Options, seed: u64) -> (Vec<Record>, usize) {
    let (budget, poll) = (options.budget, options.flags.poll);
    let cases: BTreeSet<Case> = groups.iter().map(|group| group.case).collect();
    let checksums: BTreeMap<_, _> =
        cases.iter().map(|case| (*case, cases::expected_checksum(*case, &budget))).collect();
    let time = if let Rounds::Within(time) = options.rounds { Some(time) } else { None };
    let bar = progress::bar(0, time);
    let (begin, mut random, mut records) = (Instant::now(), Rng::with_seed(seed), Vec::new());
    let is_time_over = |round| round > 0 && time.is_some_and(|time| begin.elapsed() >= time);
    let mut round = 0;
    let undecided = loop {
        let due = options.rounds.due(groups, round, &records, &mut random);
        if due.is_empty() || is_time_over(round) {
            break due.len();
        }
        bar.inc_length(due.iter().map(|group| group.runtimes.len() as u64).sum());
        for Group { case, threads, runtimes } in due.into_iter().take_while(|_| !is_time_over(round)) {
            for runtime in runtimes {
                bar.set_message(format!("{}: {} of {threads}", runtime.name(), case.name()));
                let (given, checksum) = (options.given.clone(), checksums[&case]);
                let job = Job { runtime, case, threads, cpus: cpus.to_vec(), budget, checksum, given, poll };
                let begin = Instant::now();
                let outcome = run_job(&job).map_or_else(Outcome::Failed, Outcome::Measured);
                let seconds = begin.elapsed().as_secs_f64();
                records.push(Record { round, runtime, case, threads, seconds, outcome });
                bar.inc(1);
            }
        }
        round += 1;
    };
    bar.finish_and_clear();
    (records, undecided)
}

fn run_job(job: &Job) -> Result<Measured, String> {
    let is_openmp = job.runtime.is_openmp();
    let openmp = is_openmp.then(|| openmp::environment(job.runtime, &job.cpus[..job.threads]));
    own_process::ask_within("runner", job, &openmp.unwrap_or_default(), time_limit(job))
}

/// After this the runner is killed. It is some ten times what a slow runtime takes for the longest case, or to make its
/// matrix and go over it, and more where other programs want the CPUs, too, or in a guest of `tests/numa/run`, where
/// every instruction may be emulated.
fn time_limit(job: &Job) -> Duration {
    let emulated = std::env::var_os("HIVE_TEST_GUEST").is_some();
    let nanos_per_nonzero = if job.case.is_sparse() { 600 + 20 * job.budget.cg_iterations } else { 0 };
    let matrix = Duration::from_nanos(job.budget.matrix_nonzeros.saturating_mul(nanos_per_nonzero));
    (Duration::from_mins(1) + matrix) * if emulated { 30 } else { machine::runnable_per_cpu() }
}
