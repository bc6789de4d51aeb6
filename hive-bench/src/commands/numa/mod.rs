//! `numa`: what it costs to have memory, or the rest of the team, on another node.

mod constructs;
mod nodes;
mod table;
mod triad;

use std::path::PathBuf;

use clap::{Args, value_parser};
use serde::Serialize;

use crate::run::sizes::{self, default_sizes};
use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::machine::Machine;
use crate::system::{cpus, files};

use nodes::Nodes;

/// What to measure, and where the figures go.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Keep the figures in this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure regions, barriers and resizes of a hive shrunk to these sizes, including the queen [default: 1, 2, 4,
    /// ... and all CPUs]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    bees: Vec<usize>,
    /// Size in mebibytes of each of the triad's three arrays [default: four times all last-level caches, at least 64,
    /// at most a sixteenth of the smallest node]
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

/// Measures, prints and stores.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let (nodes, sizes) = checked(arguments).map_err(Failure::Usage)?;
    let findings = measure(arguments, &nodes, &sizes).map_err(Failure::Work)?;
    fine_if(report(arguments, &findings).map_err(Failure::Work)?)
}

/// The nodes and the sizes of teams. An error names the flag and says what is possible.
fn checked(arguments: &Arguments) -> Result<(Nodes, Vec<usize>), String> {
    arguments.json.as_ref().map_or(Ok(()), |path| files::writable("--json", path))?;
    let most = cpus::in_order_of_use().len();
    let mut sizes =
        arguments.bees.iter().map(|size| sizes::checked_size("--bees", *size, most)).collect::<Result<Vec<_>, _>>()?;
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
        triad: triad::measure(nodes, array_bytes as usize / size_of::<f64>(), arguments.rounds.into()),
        constructs: constructs::measure(sizes, cpus::in_order_of_use().len())?,
    })
}

/// Whether everything could be measured.
fn report(arguments: &Arguments, findings: &Findings) -> Result<bool, String> {
    print!("{}", table::text(findings));
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string(findings)
            .map_err(|error| format!("the figures cannot be written as JSON: {error}"))?;
        files::write("--json", path, &text)?;
    }
    Ok(findings.triad.iter().all(|bandwidth| bandwidth.refused.is_none()))
}
