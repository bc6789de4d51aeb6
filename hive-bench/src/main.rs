//! hive-bench: hive beside its rivals, each in a process of its own, in interleaved rounds.

mod cases;
mod catalog;
mod cli;
mod commands;
mod kernels;
mod matrix;
mod measure;
mod model;
mod record;
mod report;
mod run;
mod runtimes;
mod stats;
mod system;

use std::process::ExitCode;
use std::time::SystemTime;

use clap::Parser;
use nix::sys::signal::{SigHandler, Signal, signal};

use cli::options::Options;
use cli::{Cli, Flags};
use commands::list;
use record::Outcome::Measured;
use record::Run;
use run::{driver, plan};
use system::exit::{self, Failure, Outcome, fine_if};
use system::machine::{self, Build, Machine};
use system::{cpus, files};

fn main() -> ExitCode {
    // Rust ignores this signal, so that printing panics when the reader, such as `head`, is gone. By default the
    // program just ends. SAFETY: that runs no handler.
    #[expect(unsafe_code, reason = "nix has no safe name for it, because handlers could do anything")]
    let default = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
    default.expect("SIGPIPE has a default action");
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Some(command) => command.run(),
        None if cli.flags.list => list::main(),
        None => measure_all(cli.flags),
    };
    exit::code(outcome)
}

/// The program without a command: the flags are checked, the suite is run, and what it found is printed and written. It
/// fails if any measurement did.
fn measure_all(flags: Flags) -> Outcome {
    let options =
        Options::check(flags, cpus::in_order_of_use().len()).and_then(Options::prepare).map_err(Failure::Usage)?;
    let run = run_suite(&options);
    let samples = options.samples.as_deref();
    let stored = samples.map_or(Ok(()), |path| files::write_json("--json", path, &run));
    // The screen must not name a file that could not be written.
    print!("{}", report::text(&run, samples.filter(|_| stored.is_ok()), options.flags.full));
    stored.map_err(Failure::Work)?;
    fine_if(run.records.iter().all(|record| matches!(record.outcome, Measured(_))))
}

/// For the order of the runners within a round, the same from run to run in the first one.
const SEED: u64 = 2;

/// Measures what the options ask for.
fn run_suite(options: &Options) -> Run {
    let look_again = machine::watch();
    let machine = Machine::read();
    let (present, absent) = driver::what_is_there(&options.wanted.runtimes);
    let wanted = plan::Wanted { runtimes: present, ..options.wanted.clone() };
    let (records, undecided) = driver::run(&plan::groups(&wanted), &machine.cpus, options, SEED);
    Run {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command_line: std::env::args().map(|argument| without_folders(&argument)).collect(),
        machine,
        build: Build::read(),
        budget: options.budget,
        seed: SEED,
        undecided,
        absent,
        disturbance: look_again(),
        records,
    }
}

/// An argument whose paths are only the names of files, because a folder may be named after a user or a host.
fn without_folders(argument: &str) -> String {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    match argument.split_once('=').filter(|_| argument.starts_with("--")) {
        Some((flag, path)) => format!("{flag}={}", name(path)),
        None => name(argument),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_run_names_no_folder() {
        let cases = [
            ("/home/me/target/release/hive-bench", "hive-bench"),
            ("--json=/home/me/a.json", "--json=a.json"),
            ("/home/me/a=b/c.json", "c.json"),
            ("region,join", "region,join"),
        ];
        for (argument, kept) in cases {
            assert_eq!(without_folders(argument), kept);
        }
    }
}
