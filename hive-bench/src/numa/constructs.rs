//! Regions and barriers of teams that stay on as few nodes as they can, and of teams that are dealt out to all of them.

use std::hint::black_box;
use std::thread;

use serde::Serialize;

use super::nodes::Nodes;
use crate::effort::Effort;
use crate::runtimes::Runtime;
use crate::runtimes::hive::{HiveTeam, Waiting};
use crate::stats::median;
use crate::timing;

/// What a team costs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cost {
    /// In which order its members get the CPUs.
    pub(super) order: &'static str,
    pub(super) members: usize,
    /// The median of a region without work, in nanoseconds.
    pub(super) region_ns: f64,
    /// The median of a barrier, in nanoseconds.
    pub(super) barrier_ns: f64,
}

/// Measures teams of these sizes in each order that the machine has.
pub(super) fn measure(nodes: &Nodes, sizes: &[usize]) -> Result<Vec<Cost>, String> {
    let mut costs = Vec::new();
    for (order, cpus) in orders(nodes) {
        for &members in sizes.iter().filter(|size| **size <= cpus.len()) {
            costs.push(cost(order, &cpus[..members])?);
        }
    }
    Ok(costs)
}

/// The orders in which members get CPUs: another order is another entry.
fn orders(nodes: &Nodes) -> Vec<(&'static str, Vec<usize>)> {
    let by_node: Vec<&[usize]> = nodes.with_cpus().map(|node| &node.cpus[..]).collect();
    let one_after_the_other = ("node after node", by_node.concat());
    if by_node.len() < 2 { vec![one_after_the_other] } else { vec![one_after_the_other, ("dealt out", dealt_out(&by_node))] }
}

/// The first of each, then the second of each, and so on.
fn dealt_out(by_node: &[&[usize]]) -> Vec<usize> {
    let most = by_node.iter().map(|cpus| cpus.len()).max().unwrap_or(0);
    (0..most).flat_map(|turn| by_node.iter().filter_map(move |cpus| cpus.get(turn))).copied().collect()
}

/// On a thread of its own, which becomes the queen and is bound.
fn cost(order: &'static str, cpus: &[usize]) -> Result<Cost, String> {
    thread::scope(|scope| {
        let queen = scope.spawn(|| {
            HiveTeam::host(cpus, Waiting::default(), |team| {
                let members = team.members();
                let regions = timing::batches(&Effort::QUICK, |times| {
                    for _ in 0..times {
                        team.region(members, |id| {
                            black_box(id);
                        });
                    }
                });
                let mut outcome = Ok(());
                let barriers = timing::batches(&Effort::QUICK, |times| {
                    outcome = team.barriers(times);
                });
                outcome?;
                let middle = |samples: &[f64]| median(samples).unwrap_or(0.0);
                Ok(Cost { order, members, region_ns: middle(&regions), barrier_ns: middle(&barriers) })
            })?
        });
        queen.join().map_err(|_| "the queen panicked".to_owned())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_take_turns() {
        assert_eq!(dealt_out(&[&[0, 1, 2], &[4, 5], &[]]), [0, 4, 1, 5, 2]);
    }
}
