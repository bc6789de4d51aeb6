//! hive-bench: hive beside its rivals, each in a process of its own, in interleaved rounds.

mod cases;
mod catalog;
mod cli;
mod commands;
mod kernels;
mod matrix;
mod measure;
mod model;
#[cfg(feature = "mpi")]
mod mpi;
mod record;
mod report;
mod run;
mod runtimes;
mod stats;
mod suite;
mod system;

use std::process::ExitCode;

use clap::Parser;

use cli::options::Options;
use cli::{Cli, Flags};
use commands::list;
use system::cpus;
use system::exit::{self, Failure, Outcome};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Some(command) => command.run(),
        None if cli.flags.list => list::main(),
        None => measure_all(&cli.flags),
    };
    exit::code(outcome)
}

/// The program without a command: the flags are checked, the suite is run, and what it found is printed and written.
fn measure_all(flags: &Flags) -> Outcome {
    let options =
        Options::check(flags, cpus::in_order_of_use().len()).and_then(Options::prepare).map_err(Failure::Usage)?;
    let run = suite::run(&options);
    suite::export(&run, &options)
}
