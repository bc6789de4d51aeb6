//! Which CPUs each of several hives gets, and how many members. Pure: nothing is asked of the system.

use std::collections::BTreeMap;

use crate::topology::{Cpu, CpuMask, Machine, Pin, PlaceError, PlaceUnit, Places, Shrink};

/// What one of several hives gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lot {
    /// The number of its unit on the machine.
    pub(super) unit: usize,
    /// The operating system's numbers of its CPUs, in the order in which members get them.
    pub(super) cpus: Vec<usize>,
}

/// Who gets what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// In the order of the units.
    pub(super) lots: Vec<Lot>,
    /// Units without a CPU that is not taken, with the CPUs that they have.
    pub(super) left_out: Vec<(usize, CpuMask)>,
}

impl Layout {
    /// A lot for each unit that has CPUs which are not `taken`. Of each lot the last `free` CPUs are left to others, but for the first of all.
    pub(super) fn new(
        machine: &Machine,
        each: PlaceUnit,
        shrink: Shrink,
        free: usize,
        taken: &CpuMask,
    ) -> Result<Self, PlaceError> {
        let places = Places::new(machine, &Pin::Core, shrink, taken)?;
        let in_order = (0..).map_while(|member| machine.cpu(*places.first_of(member)?.cpus().first()?));
        let mut lots = BTreeMap::<_, Vec<_>>::new();
        for cpu in in_order {
            lots.entry(number(machine, each, cpu)).or_default().push(cpu.os_index);
        }
        let mut left_out = BTreeMap::<_, Vec<_>>::new();
        for cpu in machine.cpus() {
            let unit = number(machine, each, cpu);
            if !lots.contains_key(&unit) {
                left_out.entry(unit).or_default().push(cpu.os_index);
            }
        }
        let lot = |(unit, mut cpus): (usize, Vec<usize>)| {
            cpus.truncate(cpus.len().saturating_sub(free).max(1));
            Lot { unit, cpus }
        };
        let left_out = left_out.into_iter().map(|(unit, cpus)| (unit, cpus.into_iter().collect()));
        Ok(Self { lots: lots.into_iter().map(lot).collect(), left_out: left_out.collect() })
    }

    pub(super) fn mask(&self) -> CpuMask {
        self.lots.iter().flat_map(|lot| &lot.cpus).copied().collect()
    }
}

/// The number of the unit that a CPU belongs to.
fn number(machine: &Machine, each: PlaceUnit, cpu: &Cpu) -> usize {
    let by_itself = || machine.cpus().iter().take_while(|other| other.os_index != cpu.os_index).count();
    each.unit().map_or_else(by_itself, |unit| cpu.number(unit))
}

/// Deals `total` members to hives that have room for so many each: one to each by turns, until there are none left or no room. Each gets at least one.
pub(super) fn deal(total: usize, room: &[usize]) -> Vec<usize> {
    let mut sizes = vec![1; room.len()];
    let mut left = total.saturating_sub(room.len());
    while left > 0 {
        let before = left;
        for (size, room) in sizes.iter_mut().zip(room) {
            if left > 0 && *size < *room {
                *size += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{RawCpu, Source};

    /// Two packages of two nodes of two cores of two threads, numbered as they come.
    fn machine() -> Machine {
        let cpu = |cpu: u64| {
            let (core, node, package) = (cpu / 2, cpu / 4, cpu / 8);
            RawCpu { os_index: cpu as usize, core, cluster: core, node, package, slowness: 0 }
        };
        Machine::new((0..16).map(cpu), Source::Flat, true)
    }

    fn cpus(each: PlaceUnit, shrink: Shrink, free: usize, taken: &str) -> Vec<Vec<usize>> {
        let layout = Layout::new(&machine(), each, shrink, free, &taken.parse().unwrap()).unwrap();
        layout.lots.into_iter().map(|lot| lot.cpus).collect()
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
        assert_eq!(cpus(PlaceUnit::NumaDomains, Shrink::Compact, 1, "0-3,6,12"), [vec![4, 5], vec![8, 10, 9], vec![14, 13]]);
        assert_eq!(cpus(PlaceUnit::NumaDomains, Shrink::Compact, 9, ""), [[0], [4], [8], [12]]);
        let layout =
            Layout::new(&machine(), PlaceUnit::NumaDomains, Shrink::Compact, 0, &"0-3,6,12-15".parse().unwrap()).unwrap();
        assert_eq!(layout.left_out, [(0, "0-3".parse().unwrap()), (3, "12-15".parse().unwrap())]);
        assert_eq!(layout.lots.iter().map(|lot| lot.unit).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(layout.mask(), "4-5,7-11".parse().unwrap());
        assert!(Layout::new(&machine(), PlaceUnit::NumaDomains, Shrink::Compact, 0, &"0-15".parse().unwrap()).is_err());
    }

    #[test]
    fn members_are_dealt_by_turns_as_far_as_there_is_room() {
        assert_eq!(deal(6, &[4, 4]), [3, 3]);
        assert_eq!(deal(7, &[4, 1, 4]), [3, 1, 3]);
        assert_eq!(deal(8, &[4, 1, 4]), [4, 1, 3]);
        assert_eq!(deal(99, &[4, 1, 4]), [4, 1, 4]);
        assert_eq!(deal(0, &[4, 1]), [1, 1]);
        assert_eq!(deal(3, &[0, 2]), [1, 2]);
    }
}
