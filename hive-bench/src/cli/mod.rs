//! The command line.

mod commands;
pub(crate) mod options;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};

use crate::catalog::{Family, RuntimeId};

pub(crate) use commands::Command;

/// Measure hive beside its rivals. Without arguments it runs what a user would choose a runtime by, in two minutes.
///
/// Exit codes: 0 if all is well, 1 if a measurement or a check failed (compare: if hive got slower), 2 for bad usage.
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// What to measure, how often, and where the results go.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Flags {
    /// List all cases and runtimes, and say which runtimes are absent on this machine
    #[arg(long)]
    pub(crate) list: bool,
    /// Run every case with every runtime and teams of all sizes, in fifteen minutes on two CPUs
    #[arg(long, conflicts_with = "case")]
    pub(crate) all: bool,
    /// Run only these cases, with every runtime. The part of a name before a dash chooses all cases that begin so:
    /// join, wake, spawn, idle, idle-use [default: 21 that a runtime is chosen by]
    #[arg(long, value_name = "CASE,...", value_delimiter = ',')]
    pub(crate) case: Vec<Family>,
    /// Run only these runtimes [default: hive and its rivals as programs use them; with --all or --case, all]
    #[arg(long, value_name = "RUNTIME,...", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) runtime: Vec<RuntimeId>,
    /// Let hive's sleeping bees wake at this interval and look for tasks, such as 2ms [default: never]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) poll: Option<Duration>,
    /// Run only teams of so many threads [default: all CPUs; with --all or --case 1, 2, 4, ... and all CPUs]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) threads: Vec<usize>,
    /// Run every case this many times [default: until its rounds agree, as far as the time goes]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: Option<u16>,
    /// Run fewer and shorter rounds, to see whether everything works; without --all this takes less than 30 s
    #[arg(long)]
    pub(crate) quick: bool,
    /// Use this matrix for spmv and cg: a Matrix Market file, gzipped or not [default: the Laplacian of a grid]
    #[arg(long, value_name = "FILE")]
    pub(crate) matrix: Option<PathBuf>,
    /// Print every table, not only what fits one screen
    #[arg(long)]
    pub(crate) full: bool,
    /// Write every raw sample, with machine, build and command line, to this file, packed if its name ends in .gz;
    /// `none` writes no file [default: a file named by the date, in target/hive-bench or hive-bench-results]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::catalog::Case;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lists_are_comma_separated() {
        let cli = Cli::parse_from(["hive-bench", "--case", "region,idle-2ms", "--threads", "1,2", "--rounds", "3"]);
        let cases: Vec<_> = cli.flags.case.into_iter().flat_map(|family| family.0).collect();
        assert_eq!(cases, [Case::Region, Case::Idle2ms]);
        assert_eq!(cli.flags.threads, [1, 2]);
        assert_eq!(cli.flags.rounds, Some(3));
        assert!(cli.command.is_none());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_flag_and_the_names() {
        let error = Cli::try_parse_from(["hive-bench", "--runtime", "tokio"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("--runtime") && text.contains("rayon-worker"), "{text}");
    }
}
