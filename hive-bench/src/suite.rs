//! What the program does without a command: it measures, prints what came of it, and writes that to files.

use std::time::SystemTime;

use crate::cli::options::Options;
use crate::page;
use crate::record::{Run, Unknown};
use crate::report::figures::Figures;
use crate::report::{self, Files};
use crate::run::{driver, plan};
use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::files;
use crate::system::machine::{Build, Machine, Watch};

/// The order of the runners within a round, the same from run to run.
const SEED: u64 = 2;

/// Measures what the options ask for.
pub(crate) fn run(options: &Options) -> Run {
    let watch = Watch::start();
    let machine = Machine::read();
    let (present, absent) = driver::what_is_there(&options.wanted.runtimes);
    let wanted = plan::Wanted { runtimes: present, ..options.wanted.clone() };
    let groups = plan::groups(&wanted, &options.budget, options.rounds);
    let expected = plan::expected(&groups, &options.budget);
    let time = driver::Time { expected, deadline: options.rounds.deadline() };
    let terms = driver::Terms { budget: options.budget, given: options.given.clone(), poll: options.poll };
    let steps = plan::steps(&groups, SEED);
    let records = driver::run(&steps, &machine.cpus, &terms, time);
    Run {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command_line: std::env::args().collect(),
        machine,
        build: Build::read(),
        budget: options.budget,
        seed: SEED,
        left_out: steps.len() - records.len(),
        absent,
        disturbance: watch.finish(),
        records,
        unknown: Unknown::default(),
    }
}

/// Prints the report and writes the files. The program fails if any measurement did.
pub(crate) fn export(run: &Run, options: &Options) -> Outcome {
    let figures = Figures::of(&run.records);
    let stored = store(run, &figures, options);
    let outputs = &options.outputs;
    let written = Files { page: outputs.page.as_deref(), samples: outputs.samples.as_deref() };
    // The screen must not name a file that could not be written.
    let files = if stored.is_ok() { written } else { Files::default() };
    print!("{}", report::text(run, &figures, files, options.full));
    stored.map_err(Failure::Work)?;
    fine_if(!run.has_failures())
}

fn store(run: &Run, figures: &Figures, options: &Options) -> Result<(), String> {
    if let Some(path) = &options.outputs.samples {
        let text =
            serde_json::to_string(run).map_err(|error| format!("the results cannot be written as JSON: {error}"))?;
        files::write("--json", path, &text)?;
    }
    options.outputs.page.as_ref().map_or(Ok(()), |path| files::write("--html", path, &page::page(run, figures)?))
}
