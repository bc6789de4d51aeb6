//! Which CPUs each hive of a set gets, and how many bees it starts with.
//!
//! `HiveSetBuilder::build` calls this with a description of the machine. The functions here are pure: they ask nothing
//! of the operating system, so tests can run them on any machine.

use std::collections::BTreeMap;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, PlaceUnit};
use crate::topology::shrink::{Shrink, cpus_in_order};

/// The CPUs that one hive of a set gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HiveCpus {
    /// The number of the hive's unit on the machine.
    pub(crate) unit: usize,
    /// The operating system's numbers of the hive's CPUs, in the order in which the bees get them.
    pub(crate) cpus: Vec<usize>,
}

/// Which hive gets which CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The hives, in the order of their units on the machine.
    pub(crate) hives: Vec<HiveCpus>,
    /// Units that get no hive because all of their CPUs are taken, each with its CPUs.
    pub(crate) skipped: Vec<(usize, CpuMask)>,
}

impl Layout {
    /// Plans one hive for each unit that has CPUs outside of `taken`; nothing is built or claimed yet. From each unit
    /// the last `free_cpus` CPUs are left to others, but each hive keeps at least one. `shrink` gives the order of the
    /// CPUs: a hive gives up the last ones first.
    ///
    /// None: all CPUs are in `taken`.
    pub(crate) fn new(
        machine: &Machine,
        unit_kind: PlaceUnit,
        shrink: Shrink,
        free_cpus: usize,
        taken: &CpuMask,
    ) -> Option<Self> {
        let mut hives = BTreeMap::<_, Vec<_>>::new();
        // Each unit keeps the order in which one hive over the whole machine would use the CPUs.
        for cpu in cpus_in_order(machine, taken, shrink) {
            hives.entry(cpu.unit_number(unit_kind)).or_default().push(cpu.os_index);
        }
        // Only a unit without a free CPU has no entry in `hives`: those units are skipped.
        let skipped = (0..machine.unit_count(unit_kind)).filter(|unit| !hives.contains_key(unit));
        let skipped = skipped.map(|unit| (unit, machine.unit_cpus(unit_kind, unit))).collect();
        let hive_cpus = |(unit, mut cpus): (usize, Vec<usize>)| {
            cpus.truncate(cpus.len().saturating_sub(free_cpus).max(1));
            HiveCpus { unit, cpus }
        };
        let hives: Vec<_> = hives.into_iter().map(hive_cpus).collect();
        (!hives.is_empty()).then_some(Self { hives, skipped })
    }

    /// All CPUs of all hives.
    pub(crate) fn mask(&self) -> CpuMask {
        self.hives.iter().flat_map(|hive| &hive.cpus).copied().collect()
    }
}

/// Distributes `total` bees over hives with these capacities: one bee to each hive in turn, until no bees or no room
/// are left. Each hive gets at least one bee, even if its capacity is 0 or `total` is too small.
pub(crate) fn distribute(total: usize, capacities: &[usize]) -> Vec<usize> {
    let mut sizes = vec![1; capacities.len()];
    for _ in sizes.len()..total {
        let with_room = sizes.iter_mut().zip(capacities).filter(|(size, capacity)| **size < **capacity);
        let Some((smallest, _)) = with_room.min_by_key(|(size, _)| **size) else { break };
        *smallest += 1;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::{FLAT, RawCpu};

    /// Two packages, each with two nodes of two cores of two threads. The CPUs are numbered in that order.
    fn machine() -> Machine {
        let cpu = |cpu: u64| {
            let (core, node, package) = (cpu / 2, cpu / 4, cpu / 8);
            RawCpu { os_index: cpu as usize, keys: [core, core, node, package], slowness: 0 }
        };
        Machine::new((0..16).map(cpu), FLAT, true)
    }

    fn cpus(unit_kind: PlaceUnit, shrink: Shrink, free_cpus: usize, taken: &str) -> Vec<Vec<usize>> {
        let layout = Layout::new(&machine(), unit_kind, shrink, free_cpus, &taken.parse().unwrap()).unwrap();
        layout.hives.into_iter().map(|hive| hive.cpus).collect()
    }

    #[test]
    fn each_hive_has_its_unit_s_cpus_first_threads_first() {
        let nodes = cpus(PlaceUnit::NumaDomains, Shrink::Compact, 0, "");
        assert_eq!(nodes, [[0, 2, 1, 3], [4, 6, 5, 7], [8, 10, 9, 11], [12, 14, 13, 15]]);
        let packages = cpus(PlaceUnit::Sockets, Shrink::Spread, 0, "");
        assert_eq!(packages, [[0, 4, 2, 6, 1, 5, 3, 7], [8, 12, 10, 14, 9, 13, 11, 15]]);
        assert_eq!(cpus(PlaceUnit::Threads, Shrink::Compact, 0, "0-9,11-14"), [[10], [15]]);
    }

    #[test]
    fn cpus_of_others_and_those_to_leave_free_are_left_alone() {
        assert_eq!(
            cpus(PlaceUnit::NumaDomains, Shrink::Compact, 1, "0-3,6,12"),
            [vec![4, 5], vec![8, 10, 9], vec![14, 13]]
        );
        assert_eq!(cpus(PlaceUnit::NumaDomains, Shrink::Compact, 9, ""), [[0], [4], [8], [12]]);
        let layout =
            Layout::new(&machine(), PlaceUnit::NumaDomains, Shrink::Compact, 0, &"0-3,6,12-15".parse().unwrap())
                .unwrap();
        assert_eq!(layout.skipped, [(0, "0-3".parse().unwrap()), (3, "12-15".parse().unwrap())]);
        assert_eq!(layout.hives.iter().map(|hive| hive.unit).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(layout.mask(), "4-5,7-11".parse().unwrap());
        assert!(
            Layout::new(&machine(), PlaceUnit::NumaDomains, Shrink::Compact, 0, &"0-15".parse().unwrap()).is_none()
        );
    }

    #[test]
    fn bees_are_distributed_in_turn_up_to_the_capacities() {
        assert_eq!(distribute(6, &[4, 4]), [3, 3]);
        assert_eq!(distribute(7, &[4, 1, 4]), [3, 1, 3]);
        assert_eq!(distribute(8, &[4, 1, 4]), [4, 1, 3]);
        assert_eq!(distribute(99, &[4, 1, 4]), [4, 1, 4]);
        assert_eq!(distribute(0, &[4, 1]), [1, 1]);
        assert_eq!(distribute(3, &[0, 2]), [1, 2]);
    }
}
