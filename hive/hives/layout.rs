//! Which CPUs each of several hives gets, and how many bees. Pure: nothing is asked of the system.

use std::collections::BTreeMap;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Cpu, Machine};
use crate::topology::pin_policy::Pin;
use crate::topology::place_assignment::{PlaceAssignment, PlaceError};
use crate::topology::place_list::PlaceUnit;
use crate::topology::shrink::Shrink;

/// What one of several hives gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HiveCpus {
    /// The number of its unit on the machine.
    pub(crate) unit: usize,
    /// The operating system's numbers of its CPUs, in the order in which bees get them.
    pub(crate) cpus: Vec<usize>,
}

/// Who gets what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// In the order of the units.
    pub(crate) hives: Vec<HiveCpus>,
    /// Units without a CPU that is not taken, with the CPUs that they have.
    pub(crate) skipped: Vec<(usize, CpuMask)>,
}

impl Layout {
    /// A lot for each unit that has CPUs which are not `claimed`. Of each lot the last `free_cpus` CPUs are left to others, but for the first of all.
    pub(crate) fn new(
        machine: &Machine,
        unit_kind: PlaceUnit,
        shrink: Shrink,
        free_cpus: usize,
        taken: &CpuMask,
    ) -> Result<Self, PlaceError> {
        let places = PlaceAssignment::new(machine, &Pin::Core, shrink, taken)?;
        let cpus_in_order = (0..).map_while(|bee| machine.find_cpu(*places.unshared_place_of(bee)?.cpus().first()?));
        let mut hives = BTreeMap::<_, Vec<_>>::new();
        for cpu in cpus_in_order {
            hives.entry(unit_number(machine, unit_kind, cpu)).or_default().push(cpu.os_index);
        }
        let mut skipped = BTreeMap::<_, Vec<_>>::new();
        for cpu in machine.cpus() {
            let unit = unit_number(machine, unit_kind, cpu);
            if !hives.contains_key(&unit) {
                skipped.entry(unit).or_default().push(cpu.os_index);
            }
        }
        let hive_cpus = |(unit, mut cpus): (usize, Vec<usize>)| {
            cpus.truncate(cpus.len().saturating_sub(free_cpus).max(1));
            HiveCpus { unit, cpus }
        };
        let skipped = skipped.into_iter().map(|(unit, cpus)| (unit, cpus.into_iter().collect()));
        Ok(Self { hives: hives.into_iter().map(hive_cpus).collect(), skipped: skipped.collect() })
    }

    pub(crate) fn mask(&self) -> CpuMask {
        self.hives.iter().flat_map(|hive| &hive.cpus).copied().collect()
    }
}

/// The number of the unit that a CPU belongs to.
fn unit_number(machine: &Machine, unit_kind: PlaceUnit, cpu: &Cpu) -> usize {
    let position = || machine.cpus().iter().take_while(|other| other.os_index != cpu.os_index).count();
    unit_kind.unit().map_or_else(position, |unit| cpu.unit_number(unit))
}

/// Deals `total` bees to hives that have room for so many each: one to each by turns, until there are none left or no room. Each gets at least one.
pub(crate) fn distribute(total: usize, capacities: &[usize]) -> Vec<usize> {
    let mut sizes = vec![1; capacities.len()];
    let mut remaining = total.saturating_sub(capacities.len());
    while remaining > 0 {
        let remaining_before = remaining;
        for (size, capacity) in sizes.iter_mut().zip(capacities) {
            if remaining > 0 && *size < *capacity {
                *size += 1;
                remaining -= 1;
            }
        }
        if remaining == remaining_before {
            break;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::RawCpu;
    use crate::topology::machine::TopologySource;

    /// Two packages of two nodes of two cores of two threads, numbered as they come.
    fn machine() -> Machine {
        let cpu = |cpu: u64| {
            let (core, node, package) = (cpu / 2, cpu / 4, cpu / 8);
            RawCpu { os_index: cpu as usize, core, cluster: core, node, package, slowness: 0 }
        };
        Machine::new((0..16).map(cpu), TopologySource::Flat, true)
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
        assert!(Layout::new(&machine(), PlaceUnit::NumaDomains, Shrink::Compact, 0, &"0-15".parse().unwrap()).is_err());
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
