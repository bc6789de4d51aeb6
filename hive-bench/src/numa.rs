//! `numa`: what it costs that memory, or the rest of the team, is on another node.

mod constructs;
mod memory;
mod nodes;
mod table;
mod triad;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, value_parser};
use serde::Serialize;

use crate::machine::Machine;
use crate::plan::default_sizes;
use crate::{cpus, options, write_file};

use nodes::Nodes;

/// What to measure, and where the figures go.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Keep the figures in this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Regions, barriers and resizes of a hive that has shrunk to these sizes, the queen counted [default: 1, 2, 4, ... and all CPUs]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    bees: Vec<usize>,
    /// Mebibytes in each of the triad's three arrays [default: four times all last-level caches, at least 64, at most a sixteenth of the smallest node]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(1..=1 << 20))]
    size: Option<u64>,
    /// Measure everything this often, each time with fresh memory
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = value_parser!(u16).range(1..))]
    rounds: u16,
}

/// All figures: what `--json` writes.
#[derive(Debug, Serialize)]
struct Findings {
    machine: String,
    /// The system's numbers of the nodes that have memory.
    memory_nodes: Vec<usize>,
    /// Of one of the triad's three arrays.
    array_bytes: u64,
    triad: Vec<triad::Bandwidth>,
    constructs: Vec<constructs::Cost>,
}

/// Measures, prints and stores. Exit codes as for a run.
pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    let (nodes, sizes) = match checked(arguments) {
        Ok(checked) => checked,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    match measure(arguments, &nodes, &sizes).and_then(|findings| report(arguments, &findings)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The nodes and the sizes of teams. An error names the flag and says what is possible.
fn checked(arguments: &Arguments) -> Result<(Nodes, Vec<usize>), String> {
    arguments.json.as_ref().map_or(Ok(()), |path| options::writable("--json", path))?;
    let most = cpus::in_order_of_use().len();
    let mut sizes =
        arguments.bees.iter().map(|size| options::checked_size(*size, most)).collect::<Result<Vec<_>, _>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    let nodes = Nodes::read()?;
    Ok((nodes, if sizes.is_empty() { default_sizes(most) } else { sizes }))
}

fn measure(arguments: &Arguments, nodes: &Nodes, sizes: &[usize]) -> Result<Findings, String> {
    let array_bytes = arguments.size.map_or_else(|| nodes.array_bytes(), |mebibytes| mebibytes << 20);
    Ok(Findings {
        machine: Machine::read_name(),
        memory_nodes: nodes.with_memory().collect(),
        array_bytes,
        triad: triad::measure(nodes, array_bytes as usize / size_of::<f64>(), arguments.rounds.into())?,
        constructs: constructs::measure(sizes, cpus::in_order_of_use().len())?,
    })
}

/// Whether everything could be measured.
fn report(arguments: &Arguments, findings: &Findings) -> Result<bool, String> {
    print!("{}", table::text(findings));
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string(findings)
            .map_err(|error| format!("the figures cannot be written as JSON: {error}"))?;
        write_file("--json", path, &text)?;
    }
    Ok(findings.triad.iter().all(|bandwidth| bandwidth.refused.is_none()))
}
