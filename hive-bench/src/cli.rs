//! The command line as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::catalog::{Family, RuntimeId};
use crate::compare;
use crate::generate::Generate;
use crate::latency;
use crate::model;
#[cfg(feature = "mpi")]
use crate::mpi;
#[cfg(feature = "hwloc")]
use crate::numa;
use crate::options::Protocol;
#[cfg(feature = "hwloc")]
use crate::topo;
use crate::trace;

/// Measures hive beside its rivals. Alone it runs the quick suite: every case, every runtime, in less than 90 s on two CPUs.
///
/// Exit codes: 0 fine, 1 a measurement or a check failed (compare: hive got slower), 2 bad usage.
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// What is done with runs that were made earlier, matrices that are made up, timelines, the machine by itself, and, hidden, how the program calls itself.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the report of an earlier run once more, from the file that --json left
    Report {
        /// The file, gzipped or not
        run: PathBuf,
        /// Write the report as a page for a browser, with charts, into this file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Print only the verdict "hive against the best rival", as Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Say what changed from one run to another, from the files that --json left, gzipped or not
    ///
    /// Times on a shared machine drift. So where the same process measured a reference that takes what the case takes, the multiple
    /// of it decides: regions, reductions and barriers of two or more go by round trips, regions of one by a mutex, regions
    /// after idleness by hand-overs where the runtime's threads sleep by then, else by round trips. Everything else, and every
    /// case where that reference is missing, goes by its time. A change is told where the whole 99 % interval, from a
    /// bootstrap over the rounds of both runs, lies on one side; three rounds or more are needed on either side.
    ///
    /// Exit codes: 0 fine, 1 hive (any of its runtimes) got slower by more than the threshold with the whole interval, or fails
    /// where it did not, 2 bad usage: a file that cannot be read or is no run, or nothing in common.
    Compare {
        /// The file of the run before
        old: PathBuf,
        /// The file of the run after
        new: PathBuf,
        /// Slower by no more than this is still fine
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = compare::percent)]
        threshold: f64,
    },
    /// Write a matrix to a file
    #[command(subcommand)]
    Generate(Generate),
    /// Run cases on a hive that is traced, and write a timeline of what its bees do
    Trace(trace::Arguments),
    /// Predict fork, join, barrier and cold wake on a machine that is not at hand, by simulating its cache lines
    ///
    /// Exit codes: 0 fine, 1 --check is off by more than 20 %, 2 bad usage.
    Model(model::Arguments),
    /// Show the machine as hwloc sees it, and where the bees of a hive are
    ///
    /// With HWLOC_SYNTHETIC or HWLOC_XMLFILE it is another machine, on which bees have places and nobody is bound.
    #[cfg(feature = "hwloc")]
    Topo(topo::Arguments),
    /// Measure how long a cache line takes between every two CPUs and back
    ///
    /// On a terminal a bar shows how far it is. With one CPU there is nothing to measure: the matrix is one zero.
    Latency(latency::Arguments),
    /// Measure what it costs that memory, or the rest of a team, is on another NUMA node
    #[cfg(feature = "hwloc")]
    Numa(numa::Arguments),
    /// Run a solver on several processes or machines, one hive a rank: mpirun -n 4 hive-bench mpi jacobi
    ///
    /// Exit codes: 0 fine, 1 the method broke down or --check found a bit that differs, 2 bad usage. docs/mpi.md says how to run it.
    #[cfg(feature = "mpi")]
    Mpi(mpi::Arguments),
    /// Measure one thing.
    #[command(hide = true)]
    Child { job: String },
    /// Say which OpenMP library is in use.
    #[command(hide = true)]
    OpenmpLibrary,
    /// Say what hive makes of this machine.
    #[command(hide = true)]
    HiveReport,
}

#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// List the cases and the runtimes, and which of these can be had here
    #[arg(long)]
    pub(crate) list: bool,
    /// Only these cases; a name up to a dash is all that begin so: join, wake, spawn, idle, idle-use
    #[arg(long, value_name = "CASE,...", value_delimiter = ',')]
    pub(crate) case: Vec<Family>,
    /// Only these runtimes
    #[arg(long, value_name = "RUNTIME,...", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) runtime: Vec<RuntimeId>,
    /// These of hive's sleep protocols beside each other and rayon, in the wake, idle-use, spawn and steal cases or those of --case
    #[arg(long, value_name = "PROTOCOL,...", value_delimiter = ',', conflicts_with = "runtime")]
    pub(crate) sleep: Vec<Protocol>,
    /// hive's sleeping bees wake so often and look for something to do, such as 2ms [default: never]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) poll: Option<Duration>,
    /// Only teams of these sizes, the queen counted [default: 1, 2, 4, ... and all CPUs]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) bees: Vec<usize>,
    /// Run everything this often [default: as often as fits into the time]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: Option<u16>,
    /// Fewer and shorter rounds, less than 30 s: to see whether everything works
    #[arg(long)]
    pub(crate) quick: bool,
    /// The matrix of spmv and cg: a Matrix Market file, perhaps compressed by gzip [default: a grid's Laplacian]
    #[arg(long, value_name = "FILE")]
    pub(crate) matrix: Option<PathBuf>,
    /// Keep every raw sample, with machine, build and command line, in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as a page for a browser, with charts, into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
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
        let cli = Cli::parse_from(["hive-bench", "--case", "region,idle-2ms", "--bees", "1,2", "--rounds", "3"]);
        let cases: Vec<_> = cli.flags.case.into_iter().flat_map(|family| family.0).collect();
        assert_eq!(cases, [Case::Region, Case::Idle2ms]);
        assert_eq!(cli.flags.bees, [1, 2]);
        assert_eq!(cli.flags.rounds, Some(3));
        assert!(cli.command.is_none());
    }

    #[test]
    fn protocols_choose_the_runtimes() {
        let cli = Cli::parse_from(["hive-bench", "--sleep", "jec,none", "--poll", "2ms"]);
        assert_eq!(cli.flags.sleep, [Protocol::Jec, Protocol::None]);
        assert_eq!(cli.flags.poll, Some(Duration::from_millis(2)));
        let both = Cli::try_parse_from(["hive-bench", "--sleep", "jec", "--runtime", "chili"]).unwrap_err().to_string();
        assert!(both.contains("--sleep") && both.contains("--runtime"), "{both}");
        let error = Cli::try_parse_from(["hive-bench", "--sleep", "deep"]).unwrap_err().to_string();
        assert!(error.contains("--sleep") && error.contains("tickle"), "{error}");
        assert!(Cli::try_parse_from(["hive-bench", "--poll", "soon"]).is_err());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_flag_and_the_names() {
        let error = Cli::try_parse_from(["hive-bench", "--runtime", "tokio"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("--runtime") && text.contains("rayon-worker"), "{text}");
    }
}
