//! `trace CASE`: cases on a traced hive, with few repetitions each, so that a person can look at what its bees do.

use std::path::PathBuf;

use clap::Args;

use crate::cases;
use crate::catalog::{Case, Family, RuntimeId};
use crate::record::{Budget, Given, Job, Measured};
use crate::run::sizes;
use crate::runtimes::hive::HiveTeam;
use crate::system::exit::{Failure, Outcome};
use crate::system::{cpus, files};

/// What is to be traced.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What to run, one after the other, as for --case: region, jacobi-barrier, join-fib, tree-search, idle-asleep,
    /// resize-grow
    #[arg(value_name = "CASE,...", value_delimiter = ',', required = true)]
    case: Vec<Family>,
    /// Where the timeline goes, for ui.perfetto.dev
    #[arg(long, value_name = "FILE", default_value = "hive-trace.json")]
    out: PathBuf,
    /// The size of the team [default: all CPUs]
    #[arg(long, value_name = "N")]
    bees: Option<usize>,
}

/// Runs them.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let jobs = jobs(arguments, &cpus::in_order_of_use()).map_err(Failure::Usage)?;
    print!("{}", trace(arguments, &jobs).map_err(Failure::Work)?);
    Ok(())
}

/// What to do, checked. An error names the flag and says what is possible.
fn jobs(arguments: &Arguments, cpus: &[usize]) -> Result<Vec<Job>, String> {
    let most = cpus.len();
    let bees = sizes::checked_size("--bees", arguments.bees.unwrap_or(most), most)?;
    files::writable("--out", &arguments.out)?;
    let cases = arguments.case.iter().flat_map(|family| &family.0);
    let job = |&case: &Case| {
        let (runtime, mut budget) = (RuntimeId::Hive, Budget::TRACE);
        if !case.has_size(bees, most) {
            return Err(format!("--bees {bees}: {} is not run by a team of this size on {most} CPUs", case.name()));
        }
        let given = Given::prepare(None, &[case], &mut budget)?;
        let checksum = cases::expected_checksum(case, &budget);
        Ok(Job { runtime, case, threads: bees, cpus: cpus.to_vec(), budget, checksum, given, poll: None })
    };
    cases.map(job).collect()
}

fn trace(arguments: &Arguments, jobs: &[Job]) -> Result<String, String> {
    let cpus = &jobs.first().map_or(&[][..], |job| &job.cpus[..job.threads]);
    let out = &arguments.out;
    let mut team = HiveTeam::new(RuntimeId::Hive, cpus, |builder| builder.trace(out))?;
    for job in jobs {
        let run = cases::run(&mut team, job, &mut Measured::default());
        run.map_err(|error| format!("{}: {error}", job.case.name()))?;
    }
    let stats = team.hive.stats();
    let file = team.hive.write_trace().map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(format!(
        "{stats}the timeline is in {}: open it with https://ui.perfetto.dev or chrome://tracing\n",
        file.display()
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn check(line: &[&str], cpus: &[usize]) -> Result<Vec<(Case, usize)>, String> {
        let line = std::iter::once("trace").chain(line.iter().copied());
        let arguments = Line::try_parse_from(line).map_err(|error| error.to_string())?.arguments;
        Ok(jobs(&arguments, cpus)?.into_iter().map(|job| (job.case, job.threads)).collect())
    }

    #[test]
    fn cases_are_named_as_elsewhere() {
        let cases = check(&["join,tree-search", "--bees=2", "--out=/dev/null"], &[0, 1, 2]);
        assert_eq!(
            cases,
            Ok(vec![(Case::JoinFib, 2), (Case::JoinTree, 2), (Case::JoinComb, 2), (Case::TreeSearch, 2)])
        );
        assert_eq!(check(&["resize-grow", "--out=/dev/null"], &[0, 1]), Ok(vec![(Case::ResizeGrow, 2)]));
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_what_can() {
        let refused = |line: &[&str], parts: &[&str]| {
            let error = check(line, &[0, 1]).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        };
        refused(&["regoin"], &["regoin", "jacobi-barrier"]);
        refused(&["region", "--bees", "3"], &["--bees 3", "1 to 2"]);
        refused(&["resize-grow", "--bees", "1", "--out", "/dev/null"], &["--bees 1", "resize-grow"]);
        refused(&["region", "--out", "/nowhere/at/all"], &["--out /nowhere/at/all"]);
        refused(&[], &["CASE"]);
    }
}
