//! The one table of commands: what each is called, what it takes, and which function runs it.

use std::path::PathBuf;

use clap::Subcommand;

use crate::catalog::RuntimeId;
use crate::commands::{captures, compare, crowd, generate, latency, merge, numeric, report, sweep, trace};
#[cfg(feature = "hwloc")]
use crate::commands::{numa, topo};
use crate::model;
use crate::run::{own_process, runner};
use crate::runtimes::hive::HiveTeam;
#[cfg(openmp_compiled)]
use crate::runtimes::openmp;
use crate::system::cpus;
use crate::system::exit::Outcome;

/// What the program can do beside running the suite. The last six are hidden: the program starts itself with them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the report of an earlier run once more, from the file that --json left
    Report(report::Arguments),
    /// Say what changed from one run to another, from the files that --json left, gzipped or not
    ///
    /// Times on a shared machine drift. Therefore a case is judged by its multiple of a reference, where the same
    /// process measured one that costs what the case costs: regions, reductions and barriers of two or more are judged
    /// by round trips; regions of one by a mutex; regions after idleness by hand-overs if the runtime's threads sleep
    /// by then, and by round trips if they still poll. Every other case, and every case without its reference, is
    /// judged by its time. A case counts as faster or slower if the whole 99 % interval, from a bootstrap over the
    /// rounds of both runs, lies on one side. Both runs need at least three rounds.
    ///
    /// Exit codes: 0 if all is well; 1 if one of hive's runtimes got slower, with the whole interval beyond the
    /// threshold, or fails where it did not fail before; 2 for bad usage, such as a file that cannot be read or is not
    /// a run, or two runs without a case in common.
    Compare {
        /// The file of the run before
        old: PathBuf,
        /// The file of the run after
        new: PathBuf,
        /// Accept that hive gets slower by up to this
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = compare::percent)]
        threshold: f64,
    },
    /// Print the runs of several machines as one table, from the files that --json left, gzipped or not
    Merge(merge::Arguments),
    /// Write a matrix to a file
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Run cases on a traced hive, and write a timeline of what its bees do
    Trace(trace::Arguments),
    /// Predict fork, join and barrier on another machine, by simulating its cache lines
    ///
    /// Exit codes: 0 if all is well, 2 for bad usage.
    Model(model::Arguments),
    /// Show the machine as hwloc sees it, and where the bees of a hive are
    ///
    /// With HWLOC_SYNTHETIC or HWLOC_XMLFILE hwloc describes another machine: bees get places on it, but no thread is
    /// bound.
    #[cfg(feature = "hwloc")]
    Topo(topo::Arguments),
    /// Measure how long a cache line takes from each CPU to each other one and back
    ///
    /// A bar on the terminal shows the progress. With one CPU there is nothing to measure, and the matrix is a single
    /// zero.
    Latency(latency::Arguments),
    /// Measure what it costs to have memory, or the rest of a team, on another NUMA node
    #[cfg(feature = "hwloc")]
    Numa(numa::Arguments),
    /// Measure how many loops a second a program gets by hive and by others, alone and beside other programs
    ///
    /// Every measurement is a process of its own, whose main thread is bound to no CPU and whose runtime is as it is by
    /// default. Exit codes: 0 if all is well, 1 if something could not be measured, 2 for bad usage.
    Crowd(crowd::Arguments),
    /// Measure what ordinary numeric programs take by plain loops, Rayon and hive, alone and beside other programs
    ///
    /// Every measurement is a process of its own, as in crowd, and every answer is checked against the plain loops'.
    /// Exit codes: 0 if all is well, 1 if something could not be measured or was wrong, 2 for bad usage.
    Numeric(numeric::Arguments),
    /// Measure what a loop pays for the words that its body captures
    Captures,
    /// Measure loops of 1 to 1,048,576 indices against the plain loop, and say where hive is at its worst
    Sweep(sweep::Arguments),
    /// Measure one thing.
    #[command(hide = true)]
    Runner { job: String },
    /// Measure one thing for `crowd`.
    #[command(hide = true)]
    CrowdRunner { job: String },
    /// Measure one thing for `numeric`.
    #[command(hide = true)]
    NumericRunner { job: String },
    /// Keep a CPU busy, until standard input ends.
    #[command(hide = true)]
    Busy { cpu: Option<usize> },
    /// Say which OpenMP library is in use.
    #[cfg(openmp_compiled)]
    #[command(hide = true)]
    OpenmpLibrary,
    /// Say what hive makes of this machine.
    #[command(hide = true)]
    HiveReport,
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Report(arguments) => report::main(arguments),
            Self::Compare { old, new, threshold } => compare::main(old, new, *threshold),
            Self::Merge(arguments) => merge::main(arguments),
            Self::Generate(what) => generate::main(what),
            Self::Trace(arguments) => trace::main(arguments),
            Self::Model(arguments) => model::main(arguments),
            #[cfg(feature = "hwloc")]
            Self::Topo(arguments) => topo::main(arguments),
            Self::Latency(arguments) => latency::main(arguments),
            #[cfg(feature = "hwloc")]
            Self::Numa(arguments) => numa::main(arguments),
            Self::Crowd(arguments) => crowd::main(arguments),
            Self::Numeric(arguments) => numeric::main(arguments),
            Self::Captures => captures::main(),
            Self::Sweep(arguments) => sweep::main(arguments),
            Self::Runner { job } => own_process::serve(job, runner::measure),
            Self::CrowdRunner { job } => own_process::serve(job, crowd::runner::measure),
            Self::NumericRunner { job } => own_process::serve(job, numeric::runner::measure),
            Self::Busy { cpu } => crowd::busy::main(*cpu),
            #[cfg(openmp_compiled)]
            Self::OpenmpLibrary => own_process::answer(openmp::library()),
            Self::HiveReport => {
                let team = HiveTeam::new(RuntimeId::Hive, &cpus::in_order_of_use(), |builder| builder);
                own_process::answer(team.map(|team| team.hive.report().to_string()))
            }
        }
    }
}
