//! Regions, barriers and resizes of a hive that has shrunk, for each order in which it can give up its places and each
//! shape in which it can start and meet. The cost depends on what the remaining bees share.

use std::collections::HashSet;
use std::thread;

use hive::{BarrierShape, Hive, Pin, Place, Shrink};
use serde::Serialize;

use crate::cases::regions;
use crate::measure::timing::batches;
use crate::record::Budget;
use crate::runtimes::Runtime;
use crate::runtimes::hive::HiveTeam;
use crate::stats::median;

/// Every order, each with the shape that hive chooses itself; and every shape, each with the default order.
const HIVES: [(Shrink, BarrierShape); 6] = [
    (Shrink::Compact, BarrierShape::Auto),
    (Shrink::Spread, BarrierShape::Auto),
    (Shrink::KeepNodes, BarrierShape::Auto),
    (Shrink::Compact, BarrierShape::Flat),
    (Shrink::Compact, BarrierShape::Cluster),
    (Shrink::Compact, BarrierShape::Node),
];

/// The costs of a hive of all CPUs that has shrunk to so many bees. Times are medians, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cost {
    /// In which order it gives up its places.
    pub(super) order: String,
    /// In which groups it starts and meets.
    pub(super) shape: String,
    pub(super) bees: usize,
    /// The CPUs of the bees that are left, except those that could not be bound.
    pub(super) cpus: Vec<usize>,
    /// How many NUMA nodes and last-level caches these are in.
    pub(super) nodes: usize,
    pub(super) caches: usize,
    /// A region without work.
    pub(super) region_ns: f64,
    pub(super) barrier_ns: f64,
    /// The cost of changing the size; `None` if the hive keeps all its bees.
    pub(super) resize: Option<Resize>,
}

/// What it costs to give CPUs away and to take them back.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Resize {
    /// From the call until the surplus bees are parked.
    pub(super) shrink_ns: f64,
    /// The next region, of the bees that are left.
    pub(super) first_region_ns: f64,
    /// From the call that brings all bees back until a region of all has run.
    pub(super) grow_ns: f64,
}

/// Measures these sizes, in each order and each shape, of a hive that has `most` bees.
pub(super) fn measure(sizes: &[usize], most: usize) -> Result<Vec<Cost>, String> {
    let mut costs = Vec::new();
    for (order, shape) in HIVES {
        costs.extend(of_hive(order, shape, sizes, most)?);
    }
    Ok(costs)
}

/// On a thread of its own, which becomes the queen and is bound.
fn of_hive(order: Shrink, shape: BarrierShape, sizes: &[usize], most: usize) -> Result<Vec<Cost>, String> {
    thread::scope(|scope| {
        let queen = scope.spawn(|| {
            let builder = Hive::builder().bees(most).pin(Pin::Core).shrink(order).barrier(shape).pin_queen(true);
            let hive = builder.build().map_err(|error| format!("no hive: {error}"))?;
            hive.report().warnings().iter().for_each(|warning| eprintln!("warning: {order}, {shape}: {warning}"));
            let places = hive.places();
            let mut team = HiveTeam { hive, threads: most };
            let cost = |size: &usize| cost(&mut team, [order.to_string(), shape.to_string()], &places[..*size]);
            sizes.iter().map(cost).collect::<Result<_, _>>().map_err(|error| format!("{order}, {shape}: {error}"))
        });
        queen.join().map_err(|_| "the queen panicked".to_owned())?
    })
}

/// The costs of the bees at these places, in a hive that has all its bees before and afterwards.
fn cost(team: &mut HiveTeam, [order, shape]: [String; 2], places: &[Option<Place>]) -> Result<Cost, String> {
    let (all, bees) = (team.hive.bees(), places.len());
    let samples = if bees < all { Some(regions::resize(team, bees, &Budget::QUICK)?) } else { None };
    let resize = samples.map(|samples| {
        let [shrink_ns, first_region_ns, grow_ns] = samples.map(|samples| middle(&samples));
        Resize { shrink_ns, first_region_ns, grow_ns }
    });
    team.resize_and_wait(bees)?;
    team.threads = bees;
    let empty = batches(&Budget::QUICK, |times| team.empty_regions(bees, times));
    let barriers = batches(&Budget::QUICK, |times| team.barriers(times));
    team.resize_and_wait(all)?;
    team.threads = all;
    let bound = || places.iter().flatten();
    Ok(Cost {
        order,
        shape,
        bees,
        cpus: bound().flat_map(Place::cpus).copied().collect(),
        nodes: bound().filter_map(Place::node).collect::<HashSet<_>>().len(),
        caches: bound().filter_map(Place::cluster).collect::<HashSet<_>>().len(),
        region_ns: middle(&empty),
        barrier_ns: middle(&barriers),
        resize,
    })
}

fn middle(samples: &[f64]) -> f64 {
    median(samples).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::cpus;

    #[test]
    fn a_hive_of_all_cpus_is_measured_at_each_size_in_each_order_and_shape() {
        let most = cpus::in_order_of_use().len();
        let costs = measure(&[1, most], most).unwrap();
        let found =
            costs.iter().map(|cost| (cost.order.as_str(), cost.shape.as_str(), cost.bees, cost.resize.is_some()));
        let hives = [
            ("compact", "auto"),
            ("spread", "auto"),
            ("keep_nodes", "auto"),
            ("compact", "flat"),
            ("compact", "cluster"),
            ("compact", "node"),
        ];
        let expected = hives.map(|(order, shape)| [(order, shape, 1, most > 1), (order, shape, most, false)]);
        assert_eq!(found.collect::<Vec<_>>(), expected.concat());
        for cost in &costs {
            assert!(cost.cpus.len() <= cost.bees && cost.nodes <= cost.bees && cost.caches <= cost.bees, "{cost:?}");
            assert!(cost.region_ns > 0.0 && cost.barrier_ns > 0.0, "{cost:?}");
        }
    }
}
