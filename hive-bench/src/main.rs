//! hive-bench: hive beside its rivals, each in a process of its own, in interleaved rounds.

mod cases;
mod catalog;
mod child;
mod cli;
mod compare;
mod cpus;
mod effort;
mod figures;
mod generate;
mod html;
mod kernels;
mod latency;
mod launch;
mod list;
mod machine;
mod matrix;
mod model;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(feature = "hwloc")]
mod numa;
mod options;
mod parent;
mod plan;
mod protocols;
mod reference;
mod report;
mod results;
mod runtimes;
mod saved;
mod standing;
mod stats;
mod tables;
mod timing;
#[cfg(feature = "hwloc")]
mod topo;
mod topology;
mod trace;
mod verdict;

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Parser;

use cli::{Cli, Command, Flags};
use figures::Figures;
use machine::{Build, Machine, Watch};
use options::Options;
use results::Run;
use runtimes::{hive::HiveTeam, openmp};
use saved::Unknown;
use standing::Standings;

/// The order of the children within a round, the same from run to run.
const SEED: u64 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Some(Command::Child { job }) => child::main(&job),
        Some(Command::OpenmpLibrary) => child::answer(openmp::library()),
        Some(Command::HiveReport) => child::answer(HiveTeam::report(&cpus::in_order_of_use())),
        Some(Command::Report { run, html, markdown }) => usage(review(&run, html.as_deref(), markdown)),
        Some(Command::Compare { old, new, threshold }) => match compare::run(&old, &new, threshold) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => usage(Err(error)),
        },
        Some(Command::Generate(what)) => generate::main(&what),
        Some(Command::Trace(arguments)) => trace::main(&arguments),
        Some(Command::Model(arguments)) => model::main(&arguments),
        Some(Command::Latency(arguments)) => latency::main(&arguments),
        #[cfg(feature = "mpi")]
        Some(Command::Mpi(arguments)) => mpi::main(&arguments),
        #[cfg(feature = "hwloc")]
        Some(Command::Numa(arguments)) => numa::main(&arguments),
        #[cfg(feature = "hwloc")]
        Some(Command::Topo(arguments)) => topo::main(&arguments),
        None => parent_main(&cli.flags),
    }
}

fn parent_main(flags: &Flags) -> ExitCode {
    if flags.list {
        print!("{}", list::all());
        return ExitCode::SUCCESS;
    }
    let options = match Options::check(flags, cpus::in_order_of_use().len()).and_then(Options::prepare) {
        Ok(options) => options,
        Err(error) => return usage(Err(error)),
    };
    let run = measure(&options);
    let figures = Figures::of(&run.records);
    print!("{}", report::text(&run, &figures));
    match store(&run, &figures, &options) {
        Ok(()) if !run.has_failures() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The report of an earlier run, once more.
fn review(file: &Path, html: Option<&Path>, markdown: bool) -> Result<(), String> {
    let run = saved::read(file)?;
    let figures = Figures::of(&run.records);
    if markdown {
        print!("{}", Standings::of(&figures).markdown());
    } else {
        print!("{}", report::text(&run, &figures));
    }
    html.map_or(Ok(()), |path| write_file("--html", path, &html::page(&run, &figures)?))
}

/// 0, or 2 and why.
fn usage(outcome: Result<(), String>) -> ExitCode {
    outcome.map_or_else(
        |error| {
            eprintln!("error: {error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn measure(options: &Options) -> Run {
    let watch = Watch::start();
    let machine = Machine::read();
    let (present, absent) = parent::what_is_there(&options.wanted.runtimes);
    let wanted = plan::Wanted { runtimes: present, ..options.wanted.clone() };
    let groups = plan::groups(&wanted, &options.effort, options.rounds);
    let expected = plan::expected(&groups, &options.effort);
    let time = parent::Time { expected, deadline: options.rounds.deadline() };
    let terms = parent::Terms { effort: options.effort, given: options.given.clone(), poll: options.poll };
    let steps = plan::steps(&groups, SEED);
    let records = parent::run(&steps, &machine.cpus, &terms, time);
    Run {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command_line: std::env::args().collect(),
        machine,
        build: Build::read(),
        effort: options.effort,
        seed: SEED,
        left_out: steps.len() - records.len(),
        absent,
        disturbance: watch.finish(),
        records,
        unknown: Unknown::default(),
    }
}

fn store(run: &Run, figures: &Figures, options: &Options) -> Result<(), String> {
    if let Some(path) = &options.json {
        let text =
            serde_json::to_string(run).map_err(|error| format!("the results cannot be written as JSON: {error}"))?;
        write_file("--json", path, &text)?;
    }
    options.html.as_ref().map_or(Ok(()), |path| write_file("--html", path, &html::page(run, figures)?))
}

fn write_file(flag: &str, path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{flag} {}: cannot be written: {error}", path.display()))
}
