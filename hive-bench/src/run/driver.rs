//! The driver: runs the groups in rounds, one runner at a time and nothing else beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use fastrand::Rng;

use crate::cases;
use crate::catalog::{Case, RuntimeId};
use crate::cli::options::Options;
use crate::record::{Absent, Job, Record};
use crate::run::launch;
use crate::run::plan::{Group, Rounds};
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

/// Runs all groups as often as the options say. The first round is always complete; when the time is over, no group of
/// a later one is begun. The second result is how many groups were to be run again then.
pub(crate) fn run(groups: &[Group], cpus: &[usize], options: &Options, seed: u64) -> (Vec<Record>, usize) {
    let budget = options.budget;
    let cases: BTreeSet<Case> = groups.iter().map(|group| group.case).collect();
    let checksums: BTreeMap<_, _> =
        cases.iter().map(|case| (*case, cases::expected_checksum(*case, &budget))).collect();
    let time = match options.rounds {
        Rounds::Within(time) => Some(time),
        Rounds::Each(_) => None,
    };
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
                let job =
                    Job { runtime, case, threads, cpus: cpus.to_vec(), budget, checksum, given, poll: options.poll };
                let (outcome, seconds) = launch::run(&job);
                records.push(Record { round, runtime, case, threads, seconds, outcome });
                bar.inc(1);
            }
        }
        round += 1;
    };
    bar.finish_and_clear();
    (records, undecided)
}
