//! hive-bench: hive beside its rivals, each in a process of its own, in interleaved rounds.

mod cases;
mod catalog;
mod child;
mod cli;
mod cpus;
mod effort;
mod figures;
mod kernels;
mod launch;
mod list;
mod machine;
mod options;
mod parent;
mod plan;
mod protocols;
mod reference;
mod report;
mod results;
mod runtimes;
mod stats;
mod tables;
mod timing;
mod verdict;

use std::process::ExitCode;
use std::time::SystemTime;

use clap::Parser;

use cli::{Cli, Flags, Internal};
use figures::Figures;
use machine::{Build, Machine, Watch};
use options::Options;
use results::Run;
use runtimes::{hive::HiveTeam, openmp};

/// The order of the children within a round, the same from run to run.
const SEED: u64 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.internal {
        Some(Internal::Child { job }) => child::main(&job),
        Some(Internal::OpenmpLibrary) => child::answer(openmp::library()),
        Some(Internal::HiveReport) => child::answer(HiveTeam::report(&cpus::in_order_of_use())),
        None => parent_main(&cli.flags),
    }
}

fn parent_main(flags: &Flags) -> ExitCode {
    if flags.list {
        print!("{}", list::all());
        return ExitCode::SUCCESS;
    }
    let options = match Options::check(flags, cpus::in_order_of_use().len()) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let run = measure(&options);
    let figures = Figures::of(&run.records);
    print!("{}\n{}", report::all(&run, &figures), verdict::all(&figures));
    match store(&run, &options) {
        Ok(()) if !run.has_failures() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Run {
    let watch = Watch::start();
    let machine = Machine::read();
    let (present, absent) = parent::what_is_there(&options.wanted.runtimes);
    let wanted = plan::Wanted { runtimes: present, ..options.wanted.clone() };
    let groups = plan::groups(&wanted, &options.effort, options.rounds);
    let expected = plan::expected(&groups, &options.effort);
    let time = parent::Time { expected, deadline: options.rounds.deadline() };
    let terms = parent::Terms { effort: options.effort, poll: options.poll };
    let steps = plan::steps(&groups, SEED);
    let records = parent::run(&steps, &machine.cpus, terms, time);
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
    }
}

fn store(run: &Run, options: &Options) -> Result<(), String> {
    let Some(path) = &options.json else {
        return Ok(());
    };
    let text = serde_json::to_string(run).map_err(|error| format!("the results cannot be written as JSON: {error}"))?;
    std::fs::write(path, text).map_err(|error| format!("--json {}: {error}", path.display()))
}
