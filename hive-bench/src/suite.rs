//! What the program does without a command: it measures, prints what came of it, and writes that to a file.

use std::time::SystemTime;

use crate::cli::options::Options;
use crate::record::Run;
use crate::report;
use crate::run::{driver, plan};
use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::files;
use crate::system::machine::{Build, Machine, Watch};

/// For the order of the runners within a round, the same from run to run in the first one.
const SEED: u64 = 2;

/// Measures what the options ask for.
pub(crate) fn run(options: &Options) -> Run {
    let watch = Watch::start();
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
        disturbance: watch.finish(),
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

/// Prints the report and writes the file. The program fails if any measurement did.
pub(crate) fn export(run: &Run, options: &Options) -> Outcome {
    let samples = options.samples.as_deref();
    let stored = samples.map_or(Ok(()), |path| {
        let text = serde_json::to_string(run).map_err(|error| format!("the results are no JSON: {error}"))?;
        files::write("--json", path, &without_home(text))
    });
    // The screen must not name a file that could not be written.
    print!("{}", report::text(run, samples.filter(|_| stored.is_ok()), options.full));
    stored.map_err(Failure::Work)?;
    fine_if(!run.has_failures())
}

/// A text in which the user's own folder has no name.
fn without_home(text: String) -> String {
    match std::env::var("HOME").ok().filter(|home| home.len() > 1) {
        Some(home) => text.replace(&home, "~"),
        None => text,
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
