//! `latency`: how long a cache line takes to another CPU and back, for every pair of CPUs.

mod matrix;
mod table;

use std::path::PathBuf;

use clap::{Args, value_parser};

use crate::system::exit::{Failure, Outcome};
use crate::system::machine::Machine;
use crate::system::{cpus, files, topology};

pub(crate) use matrix::Matrix;

/// Which pairs, how often, and where the figures go.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these CPUs, such as 0,2,4-7 [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<cpus::List>,
    /// Measure every pair this often, each time in another order
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = value_parser!(u16).range(1..))]
    passes: u16,
    /// Write the matrix into this file, for hive-bench model --latency
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Measures, prints and stores.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let places = chosen(arguments).map_err(Failure::Usage)?;
    let matrix = matrix::measure(Machine::read_name(), &places, arguments.passes.into());
    print!("{}", table::text(&matrix, &places));
    let Some(path) = &arguments.json else { return Ok(()) };
    let text = serde_json::to_string(&matrix).map_err(|error| format!("the matrix cannot be written as JSON: {error}"));
    text.and_then(|text| files::write("--json", path, &text)).map_err(Failure::Work)
}

/// The CPUs in the order of rows: neighbours share most. An error names the flag and says what is possible.
fn chosen(arguments: &Arguments) -> Result<Vec<topology::Place>, String> {
    arguments.json.as_ref().map_or(Ok(()), |path| files::writable("--json", path))?;
    let chosen = cpus::List::chosen("--cpus", arguments.cpus.as_ref())?;
    let mut places = topology::places(&chosen);
    places.sort_by_key(topology::Place::neighbourhood);
    Ok(places)
}
