//! The figures as text.

use comfy_table::{CellAlignment, Table, presets};

use super::constructs::{Cost, Resize};
use super::findings::Findings;
use super::triad::Bandwidth;
use crate::catalog::Unit;
use crate::report::tables::{amount, number};

pub(super) fn text(findings: &Findings) -> String {
    let one = findings.memory_nodes.len() < 2;
    let only = if one { "This machine has one node with memory: there is nothing remote.\n" } else { "" };
    format!(
        "STREAM triad, 3 arrays of {} MiB, in GB/s\n{}\n{only}\na hive of all CPUs that has shrunk, by the order in \
         which it gives up its places and by the shape in which it starts and meets\n{}\n",
        findings.array_bytes >> 20,
        triads(&findings.triad).trim_fmt(),
        constructs(&findings.constructs).trim_fmt()
    )
}

fn triads(bandwidths: &[Bandwidth]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "threads on",
        "of them",
        "memory",
        "GB/s",
        "middle half",
        "pages on nodes",
    ]);
    for bandwidth in bandwidths {
        let Bandwidth { threads, cpus, memory, median, lower_quartile, upper_quartile, pages, refused } = bandwidth;
        let [figure, spread, pages] = match refused {
            Some(reason) => ["-".to_owned(), "-".to_owned(), reason.clone()],
            None => {
                let pages = pages.iter().map(|(node, count)| format!("{node}: {count}")).collect::<Vec<_>>().join(", ");
                [number(*median), format!("{} - {}", number(*lower_quartile), number(*upper_quartile)), pages]
            }
        };
        table.add_row([threads.clone(), cpus.len().to_string(), memory.clone(), figure, spread, pages]);
    }
    for column in [1, 3, 4] {
        align_right(&mut table, column);
    }
    table
}

fn constructs(costs: &[Cost]) -> Table {
    let mut table = Table::new();
    let header =
        ["order", "shape", "bees", "nodes", "caches", "region", "barrier", "shrink to it", "first region", "grow back"];
    table.load_style(presets::NOTHING).set_header(header);
    let time = |nanoseconds| amount(nanoseconds, Unit::Nanoseconds);
    for cost in costs {
        let changes = match cost.resize {
            Some(Resize { shrink_ns, first_region_ns, grow_ns }) => [shrink_ns, first_region_ns, grow_ns].map(time),
            None => [const { String::new() }; 3],
        };
        let counts = [cost.bees, cost.nodes, cost.caches].map(|count| count.to_string());
        let times = [cost.region_ns, cost.barrier_ns].map(time);
        table.add_row([cost.order.clone(), cost.shape.clone()].into_iter().chain(counts).chain(times).chain(changes));
    }
    for column in 2..header.len() {
        align_right(&mut table, column);
    }
    table
}

fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
