//! The command line, checked: what is wanted makes sense and can be stored.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use crate::catalog::{Case, RuntimeId};
use crate::cli::Flags;
use crate::effort::Effort;
use crate::kernels::sparse::Given;
use crate::plan::{Rounds, Wanted, default_sizes};

/// Time for the suite, with a margin to the 90 s that are promised.
pub(crate) const STANDARD_TIME: Duration = Duration::from_secs(85);
const QUICK_TIME: Duration = Duration::from_secs(15);

/// What `--sleep` names: how hive's bees go to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// By the jobs event counter, hive's default
    Jec,
    /// One sleepy bee at a time, and all are woken at once
    Tickle,
    /// One bee is told of each task, and where it is
    Notify,
    /// Never: bees spin without bound
    None,
}

impl Protocol {
    const fn runtime(self) -> RuntimeId {
        match self {
            Self::Jec => RuntimeId::Hive,
            Self::Tickle => RuntimeId::HiveTickle,
            Self::Notify => RuntimeId::HiveNotify,
            Self::None => RuntimeId::HiveHot,
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) wanted: Wanted,
    pub(crate) rounds: Rounds,
    pub(crate) effort: Effort,
    pub(crate) poll: Option<Duration>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
    pub(crate) matrix: Option<PathBuf>,
    /// What `prepare` has found out of the matrix.
    pub(crate) given: Given,
}

impl Options {
    /// `most`: the CPUs that this process may use. An error names the flag and says what is possible.
    pub(crate) fn check(flags: &Flags, most: usize) -> Result<Self, String> {
        let wanted = Wanted { cases: cases(flags), runtimes: runtimes(flags), sizes: sizes(&flags.bees, most)?, most };
        something_left(&wanted)?;
        if flags.poll == Some(Duration::ZERO) {
            return Err(
                "--poll 0s: bees that never sleep are `--sleep none`; name how long they sleep, such as 2ms".to_owned()
            );
        }
        for (flag, path) in [("--json", &flags.json), ("--html", &flags.html)] {
            path.as_ref().map_or(Ok(()), |path| writable(flag, path))?;
        }
        let (effort, time) = if flags.quick { (Effort::QUICK, QUICK_TIME) } else { (Effort::STANDARD, STANDARD_TIME) };
        let rounds = flags.rounds.map_or(Rounds::Within(time), |rounds| Rounds::Each(rounds.into()));
        let (json, html, matrix) = (flags.json.clone(), flags.html.clone(), flags.matrix.clone());
        Ok(Self { wanted, rounds, effort, poll: flags.poll, json, html, matrix, given: Given::default() })
    }

    /// Reads what is to be read before anything is measured.
    pub(crate) fn prepare(mut self) -> Result<Self, String> {
        self.given = Given::prepare(self.matrix.as_deref(), &self.wanted.cases, &mut self.effort)?;
        Ok(self)
    }
}

fn cases(flags: &Flags) -> Vec<Case> {
    let chosen: Vec<Case> = flags.case.iter().flat_map(|family| family.0.iter().copied()).collect();
    let mut cases = or_all(&chosen, Case::ALL);
    if chosen.is_empty() && !flags.sleep.is_empty() {
        cases.retain(|case| case.shows_sleep());
    }
    cases
}

fn runtimes(flags: &Flags) -> Vec<RuntimeId> {
    let mut chosen = flags.runtime.clone();
    if !flags.sleep.is_empty() {
        chosen = flags.sleep.iter().map(|protocol| protocol.runtime()).collect();
        chosen.extend([RuntimeId::RayonWorker, RuntimeId::RayonOutside]);
    }
    or_all(&chosen, RuntimeId::ALL)
}

/// In the catalogue's order, each once.
fn or_all<T: Copy + PartialEq>(chosen: &[T], all: &[T]) -> Vec<T> {
    all.iter().copied().filter(|item| chosen.is_empty() || chosen.contains(item)).collect()
}

fn sizes(chosen: &[usize], most: usize) -> Result<Vec<usize>, String> {
    if chosen.is_empty() {
        return Ok(default_sizes(most));
    }
    let mut sizes = chosen.iter().map(|&size| checked_size(size, most)).collect::<Result<Vec<_>, _>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// The size of a team, which `--bees` names.
pub(crate) fn checked_size(size: usize, most: usize) -> Result<usize, String> {
    if (1..=most).contains(&size) {
        return Ok(size);
    }
    Err(format!("--bees {size}: this process may use {most} CPUs, so a team has 1 to {most} bees"))
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
        "--case {names} leaves nothing to measure with the chosen --runtime and --bees: only hive resizes, a barrier needs hive, \
         OpenMP or std-scope, sequential has only the kernels and recursions, sequential-c those kernels that are in C, alone nobody waits otherwise in a kernel, tasks from inside are for rayon-worker and those from \
         outside for rayon-outside, and most cases need 2 members or more; see --list"
    ))
}

/// Before anything is measured: a run may take an hour.
pub(crate) fn writable(flag: &str, path: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn check(arguments: &[&str], most: usize) -> Result<Options, String> {
        let cli = Cli::parse_from(std::iter::once(&"hive-bench").chain(arguments));
        Options::check(&cli.flags, most)
    }

    #[test]
    fn without_flags_everything_is_wanted() {
        let options = check(&[], 4).unwrap();
        assert_eq!(options.wanted.cases, Case::ALL);
        assert_eq!(options.wanted.sizes, [1, 2, 4]);
        assert_eq!(options.effort, Effort::STANDARD);
        assert_eq!(options.rounds, Rounds::Within(STANDARD_TIME));
    }

    #[test]
    fn rounds_win_over_the_time() {
        assert_eq!(check(&["--rounds", "12"], 2).unwrap().rounds, Rounds::Each(12));
        assert_eq!(check(&["--quick", "--rounds", "1"], 2).unwrap().effort, Effort::QUICK);
    }

    #[test]
    fn protocols_bring_their_cases_and_rayon() {
        let wanted = check(&["--sleep", "none,tickle"], 2).unwrap().wanted;
        let rayon = [RuntimeId::RayonWorker, RuntimeId::RayonOutside];
        assert_eq!(wanted.runtimes, [&[RuntimeId::HiveHot, RuntimeId::HiveTickle], &rayon[..]].concat());
        assert!(wanted.cases.contains(&Case::Steal) && wanted.cases.contains(&Case::IdleUse1ms));
        assert!(!wanted.cases.contains(&Case::Region) && !wanted.cases.contains(&Case::Idle2ms));
        assert_eq!(
            check(&["--sleep", "jec", "--case", "join"], 2).unwrap().wanted.cases,
            [Case::JoinFib, Case::JoinTree]
        );
    }

    #[test]
    fn nobody_polls_without_end() {
        assert_eq!(check(&["--poll", "2ms"], 2).unwrap().poll, Some(Duration::from_millis(2)));
        assert!(check(&["--poll", "0s"], 2).unwrap_err().contains("--poll 0s"));
    }

    #[test]
    fn a_team_is_no_larger_than_the_machine() {
        for wrong in ["0", "3"] {
            let error = check(&["--bees", wrong], 2).unwrap_err();
            assert!(error.contains(&format!("--bees {wrong}")) && error.contains("1 to 2"), "{error}");
        }
    }

    #[test]
    fn a_choice_that_leaves_nothing_is_an_error() {
        let error = check(&["--case", "shrink", "--runtime", "libgomp"], 2).unwrap_err();
        assert!(error.contains("--case shrink") && error.contains("--runtime"), "{error}");
        assert!(check(&["--case", "idle-2ms", "--bees", "1"], 2).is_err());
        assert!(check(&["--case", "matmul", "--runtime", "hive-hot", "--bees", "1"], 2).is_err());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_found_at_once() {
        for flag in ["--json", "--html"] {
            let error = check(&[flag, "/nowhere/at/all"], 2).unwrap_err();
            assert!(error.contains(&format!("{flag} /nowhere/at/all")), "{error}");
        }
    }
}
