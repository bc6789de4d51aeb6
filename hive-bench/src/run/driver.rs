//! The driver: runs the plan, one runner at a time and nothing else beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::cases;
use crate::catalog::{Case, RuntimeId};
use crate::cli::options::Options;
use crate::record::{Absent, Job, Record};
use crate::run::launch;
use crate::run::plan::Step;
use crate::runtimes;
use crate::system::progress;

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

/// Runs all steps in order, which should take `expected`. Steps of later rounds are dropped when there is no time left;
/// the first round is always complete.
pub(crate) fn run(steps: &[Step], cpus: &[usize], options: &Options, expected: Duration) -> Vec<Record> {
    let budget = options.budget;
    let cases: BTreeSet<Case> = steps.iter().map(|step| step.case).collect();
    let checksums: BTreeMap<_, _> =
        cases.iter().map(|case| (*case, cases::expected_checksum(*case, &budget))).collect();
    let bar = progress::bar(steps.len(), expected);
    let (begin, deadline) = (Instant::now(), options.rounds.deadline());
    let has_time = |step: &&Step| step.round == 0 || deadline.is_none_or(|deadline| begin.elapsed() < deadline);
    let run_step = |step: &Step| {
        bar.set_message(format!("{}: {} of {}", step.runtime.name(), step.case.name(), step.threads));
        let Step { round, case, threads, runtime } = *step;
        let (given, checksum) = (options.given.clone(), checksums[&case]);
        let job = Job { runtime, case, threads, cpus: cpus.to_vec(), budget, checksum, given, poll: options.poll };
        let (outcome, seconds) = launch::run(&job);
        bar.inc(1);
        Record { round, runtime, case, threads, seconds, outcome }
    };
    let records = steps.iter().take_while(has_time).map(run_step).collect();
    bar.finish_and_clear();
    records
}
