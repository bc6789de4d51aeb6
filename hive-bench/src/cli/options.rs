//! The command line after it was checked: the choice leaves something to measure, and the results can be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::catalog::{Case, RuntimeId};
use crate::cli::Flags;
use crate::record::{Budget, Given};
use crate::run::plan::{Rounds, Wanted};
use crate::run::sizes::chosen_sizes;
use crate::system::files::writable;

const QUICK_TIME: Duration = Duration::from_secs(15);
/// With a margin to the two minutes that are promised.
const STANDARD_TIME: Duration = Duration::from_secs(110);
/// As long as three rounds of everything take on two CPUs, after which only what is far apart is decided, and some.
const TIME_FOR_ALL: Duration = Duration::from_mins(15);

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    /// As they were given.
    pub(crate) flags: Flags,
    pub(crate) wanted: Wanted,
    pub(crate) rounds: Rounds,
    pub(crate) budget: Budget,
    /// The file for the raw samples.
    pub(crate) samples: Option<PathBuf>,
    /// What `prepare` has found out about the matrix.
    pub(crate) given: Given,
}

impl Options {
    /// Checks the flags. `most` is the number of CPUs that this process may use. An error names the flag and says what
    /// is possible.
    pub(crate) fn check(flags: Flags, most: usize) -> Result<Self, String> {
        let chosen: Vec<Case> = flags.case.iter().flat_map(|family| family.0.iter().copied()).collect();
        let is_default = chosen.is_empty() && !flags.all;
        let cases = if is_default { Case::by_default() } else { or_all(&chosen, Case::ALL) };
        let runtimes = if is_default && flags.runtime.is_empty() {
            RuntimeId::by_default()
        } else {
            or_all(&flags.runtime, RuntimeId::ALL)
        };
        let sizes = if is_default && flags.threads.is_empty() {
            vec![most]
        } else {
            chosen_sizes("--threads", &flags.threads, most)?
        };
        let wanted = Wanted { cases, runtimes, sizes, most };
        something_left(&wanted)?;
        if flags.poll == Some(Duration::ZERO) {
            return Err(
                "--poll 0s: bees that never sleep are `hive-spin`; name how long they sleep, such as 2ms".to_owned()
            );
        }
        let (budget, time) = match flags {
            Flags { quick: true, .. } => (Budget::QUICK, QUICK_TIME),
            Flags { all: true, .. } => (Budget::STANDARD, TIME_FOR_ALL),
            _ => (Budget::STANDARD, STANDARD_TIME),
        };
        let rounds = flags.rounds.map_or(Rounds::Within(time), |rounds| Rounds::Each(rounds.into()));
        let samples = flags.json.clone().unwrap_or_else(named_by_the_date);
        let samples = (samples != Path::new("none")).then_some(samples);
        Ok(Self { flags, wanted, rounds, budget, samples, given: Given::default() })
    }

    /// Reads the matrix, and checks that the samples can be written, before anything is measured.
    pub(crate) fn prepare(mut self) -> Result<Self, String> {
        self.given = Given::prepare(self.flags.matrix.as_deref(), &self.wanted.cases, &mut self.budget)?;
        if let Some(path) = &self.samples {
            if let Some(home) = path.parent().filter(|home| *home == default_home()) {
                // Where this fails, so does what follows, and says why.
                let _ = fs::create_dir_all(home);
            }
            writable("--json", path)?;
        }
        Ok(self)
    }
}

/// Inside cargo's target directory if the current directory has one, and otherwise in the current directory itself.
fn default_home() -> PathBuf {
    let target = Path::new("target");
    if target.is_dir() { target.join("hive-bench") } else { PathBuf::from("hive-bench-results") }
}

fn named_by_the_date() -> PathBuf {
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // Colons have to be quoted in some shells, and some file systems do not take them.
    default_home().join(format!("{}.json.gz", date.replace(':', "-")))
}

/// The chosen items, or all if none was chosen: in the catalogue's order, and each once.
fn or_all<T: Copy + PartialEq>(chosen: &[T], all: &[T]) -> Vec<T> {
    all.iter().copied().filter(|item| chosen.is_empty() || chosen.contains(item)).collect()
}

fn something_left(wanted: &Wanted) -> Result<(), String> {
    let shown = |case: Case, size: usize| {
        case.has_size(size, wanted.most) && wanted.runtimes.iter().any(|runtime| runtime.shows(case, size))
    };
    let can = |case: &Case| wanted.sizes.iter().any(|size| shown(*case, *size));
    if wanted.cases.iter().any(can) {
        return Ok(());
    }
    let names = wanted.cases.iter().map(|case| case.name()).collect::<Vec<_>>().join(",");
    Err(format!(
        "--case {names} leaves nothing to measure with the chosen --runtime and --threads: field, resize, cpu, \
         idle-use, epcc and callers need all CPUs, two at least; only hive resizes; a barrier needs hive, OpenMP or \
         std-scope; chili, forte and libfork have only joins; sequential has only kernels and recursions, and \
         sequential-c and hive-c only kernels in C; with one thread, runtimes that differ only in how they wait are \
         left out of kernels; tasks from inside need rayon-worker, and tasks from outside rayon-outside; callers need \
         hive, rayon-outside or sequential; most cases need 2 threads or more; see --list"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn check(arguments: &[&str], most: usize) -> Result<Options, String> {
        let cli = Cli::parse_from(std::iter::once(&"hive-bench").chain(arguments));
        Options::check(cli.flags, most)
    }

    #[test]
    fn without_flags_a_few_cases_are_measured_with_all_cpus_and_with_all_everything() {
        let options = check(&[], 4).unwrap();
        // As many as `--help` and docs/benchmarks.md say.
        assert_eq!(options.wanted.cases.len(), 21);
        assert_eq!(options.wanted.runtimes, RuntimeId::by_default());
        assert_eq!(options.wanted.sizes, [4]);
        assert_eq!((options.budget, options.rounds), (Budget::STANDARD, Rounds::Within(STANDARD_TIME)));
        let all = check(&["--all"], 4).unwrap();
        assert_eq!((&all.wanted.cases[..], &all.wanted.runtimes[..]), (Case::ALL, RuntimeId::ALL));
        assert_eq!((all.wanted.sizes, all.rounds), (vec![1, 2, 4], Rounds::Within(TIME_FOR_ALL)));
    }

    #[test]
    fn what_is_run_only_on_request_can_be_had() {
        let wanted = check(&["--case", "cold-for,callers,idle-2ms"], 2).unwrap().wanted;
        assert_eq!(wanted.cases.len(), 9 + 7 + 1);
        assert_eq!(wanted.runtimes, RuntimeId::ALL);
        let wanted = check(&["--runtime", "hive-unpinned"], 2).unwrap().wanted;
        assert_eq!((wanted.runtimes, &wanted.cases[..]), (vec![RuntimeId::HiveUnpinned], &Case::by_default()[..]));
    }

    #[test]
    fn rounds_win_over_the_time() {
        assert_eq!(check(&["--rounds", "12"], 2).unwrap().rounds, Rounds::Each(12));
        assert_eq!(check(&["--quick", "--rounds", "1"], 2).unwrap().budget, Budget::QUICK);
    }

    #[test]
    fn nobody_polls_without_end() {
        assert_eq!(check(&["--poll", "2ms"], 2).unwrap().flags.poll, Some(Duration::from_millis(2)));
        assert!(check(&["--poll", "0s"], 2).unwrap_err().contains("--poll 0s"));
    }

    #[test]
    fn a_team_is_no_larger_than_the_machine() {
        for wrong in ["0", "3"] {
            let error = check(&["--threads", wrong], 2).unwrap_err();
            assert!(error.contains(&format!("--threads {wrong}")) && error.contains("1 to 2"), "{error}");
        }
    }

    #[test]
    fn a_choice_that_leaves_nothing_is_an_error() {
        let error = check(&["--case", "resize-shrink", "--runtime", "libgomp"], 2).unwrap_err();
        assert!(error.contains("--case resize-shrink") && error.contains("--runtime"), "{error}");
        assert!(check(&["--case", "idle-2ms", "--threads", "1"], 2).is_err());
        assert!(check(&["--case", "matmul", "--runtime", "hive-spin", "--threads", "1"], 2).is_err());
    }

    #[test]
    fn samples_go_where_they_are_told_to() {
        assert_eq!(check(&["--json", "none"], 2).unwrap().samples, None);
        assert!(check(&[], 2).unwrap().samples.unwrap().to_str().unwrap().ends_with("Z.json.gz"));
        let error = check(&["--json", "/nowhere/at/all"], 2).and_then(Options::prepare).unwrap_err();
        assert!(error.contains("--json /nowhere/at/all"), "{error}");
    }
}
