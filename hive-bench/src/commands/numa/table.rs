//! The figures as text.

use super::Findings;
use super::constructs::{Cost, Resize};
use super::triad::Bandwidth;
use crate::catalog::Unit;
use crate::report::tables::{aligned, amount, number};

pub(super) fn text(findings: &Findings) -> String {
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
