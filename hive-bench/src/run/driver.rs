//! The driver: runs the plan, one runner at a time and nothing else beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::cases;
use crate::catalog::{Case, RuntimeId};
use crate::record::Budget;
use crate::record::Given;
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

/// What holds for all runners.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) budget: Budget,
    pub(crate) given: Given,
    pub(crate) poll: Option<Duration>,
}

/// How long a run takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// As planned.
    pub(crate) expected: Duration,
    /// No runner of a later round begins after this; the first round is always complete.
    pub(crate) deadline: Option<Duration>,
}

/// Runs all steps in order. Steps of later rounds are dropped when there is no time left.
pub(crate) fn run(steps: &[Step], cpus: &[usize], terms: &Terms, time: Time) -> Vec<Record> {
    let Terms { budget, poll, .. } = *terms;
    let cases: BTreeSet<Case> = steps.iter().map(|step| step.case).collect();
    let checksums: BTreeMap<_, _> =
        cases.iter().map(|case| (*case, cases::expected_checksum(*case, &budget))).collect();
    let bar = progress::bar(steps.len(), time.expected);
    let begin = Instant::now();
    let has_time = |step: &&Step| step.round == 0 || time.deadline.is_none_or(|deadline| begin.elapsed() < deadline);
    let run_step = |step: &Step| {
        bar.set_message(format!("{}: {} of {}", step.runtime.name(), step.case.name(), step.threads));
        let Step { round, case, threads, runtime } = *step;
        let given = terms.given.clone();
        let job = Job { runtime, case, threads, cpus: cpus.to_vec(), budget, checksum: checksums[&case], given, poll };
        let (outcome, seconds) = launch::run(&job);
        bar.inc(1);
        Record { round, runtime, case, threads, seconds, outcome }
    };
    let records = steps.iter().take_while(has_time).map(run_step).collect();
    bar.finish_and_clear();
    records
}
