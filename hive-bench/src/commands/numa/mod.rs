//! `numa`: what it costs to have memory, or the rest of the team, on another node.

mod constructs;
pub(in crate::commands) mod nodes;
mod triad;

use std::path::PathBuf;

use clap::{Args, value_parser};
use serde::Serialize;

use crate::catalog::Unit;
use crate::report::tables::{aligned, amount, number};
use crate::run::sizes::chosen_sizes;
use crate::system::exit::{Failure, Outcome, fine_if};
use crate::system::{cpus, files, machine};
use constructs::{Cost, Resize};
use nodes::Nodes;
use triad::Bandwidth;

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
    triad: Vec<Bandwidth>,
    constructs: Vec<Cost>,
}

/// Measures, prints and stores.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let (nodes, sizes) = checked(arguments).map_err(Failure::Usage)?;
    let findings = measure(arguments, &nodes, &sizes).map_err(Failure::Work)?;
    print!("{}", text(&findings));
    if let Some(path) = &arguments.json {
        files::write_json("--json", path, &findings).map_err(Failure::Work)?;
    }
    fine_if(findings.triad.iter().all(|bandwidth| bandwidth.refused.is_none()))
}

/// The nodes and the sizes of teams. An error names the flag and says what is possible.
fn checked(arguments: &Arguments) -> Result<(Nodes, Vec<usize>), String> {
    arguments.json.as_ref().map_or(Ok(()), |path| files::writable("--json", path))?;
    let most = cpus::in_order_of_use().len();
    let sizes = chosen_sizes("--bees", &arguments.bees, most)?;
    Ok((Nodes::read()?, sizes))
}

fn measure(arguments: &Arguments, nodes: &Nodes, sizes: &[usize]) -> Result<Findings, String> {
    let array_bytes = arguments.size.map_or(nodes.array_bytes, |mebibytes| mebibytes << 20);
    Ok(Findings {
        machine: machine::processor(),
        memory_nodes: nodes.with_memory.clone(),
        array_bytes,
        triad: triad::measure(nodes, array_bytes as usize / size_of::<f64>(), arguments.rounds.into()),
        constructs: constructs::measure(sizes, cpus::in_order_of_use().len())?,
    })
}

fn text(findings: &Findings) -> String {
    let one = findings.memory_nodes.len() < 2;
    let only = if one { "This machine has one node with memory: there is nothing remote.\n" } else { "" };
    let of_triads = ["threads on", "of them", "memory", "GB/s", "middle half", "pages on nodes"];
    let of_constructs =
        ["order", "shape", "bees", "nodes", "caches", "region", "barrier", "shrink to it", "first region", "grow back"];
    format!(
        "STREAM triad, 3 arrays of {} MiB, in GB/s\n{}\n{only}\na hive of all CPUs that has shrunk, by the order in \
         which it gives up its places and by the shape in which it starts and meets\n{}\n",
        findings.array_bytes >> 20,
        aligned(of_triads.map(str::to_owned), findings.triad.iter().map(triad), &[0]).trim_fmt(),
        aligned(of_constructs.map(str::to_owned), findings.constructs.iter().map(construct), &[0, 1]).trim_fmt()
    )
}

fn triad(bandwidth: &Bandwidth) -> [String; 6] {
    let Bandwidth { threads, cpus, memory, median, lower_quartile, upper_quartile, pages, refused } = bandwidth;
    let [figure, spread, pages] = match refused {
        Some(reason) => ["-".to_owned(), "-".to_owned(), reason.clone()],
        None => {
            let pages = pages.iter().map(|(node, count)| format!("{node}: {count}")).collect::<Vec<_>>().join(", ");
            [number(*median), format!("{} - {}", number(*lower_quartile), number(*upper_quartile)), pages]
        }
    };
    [threads.clone(), cpus.len().to_string(), memory.clone(), figure, spread, pages]
}

fn construct(cost: &Cost) -> Vec<String> {
    let time = |nanoseconds| amount(nanoseconds, Unit::Nanoseconds);
    let changes = match cost.resize {
        Some(Resize { shrink_ns, first_region_ns, grow_ns }) => [shrink_ns, first_region_ns, grow_ns].map(time),
        None => [const { String::new() }; 3],
    };
    let counts = [cost.bees, cost.nodes, cost.caches].map(|count| count.to_string());
    let times = [cost.region_ns, cost.barrier_ns].map(time);
    [cost.order.clone(), cost.shape.clone()].into_iter().chain(counts).chain(times).chain(changes).collect()
}
