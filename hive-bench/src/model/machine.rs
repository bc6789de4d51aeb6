//! The machine that is asked about, from hwloc: which CPUs there are and what they share.

#[cfg(feature = "hwloc")]
mod hwloc;

use crate::system::cpus;
use crate::system::topology::Distance;

/// One hardware thread: the operating system's number, and which units it belongs to. Any numbers, equal for CPUs of
/// the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpu {
    pub(super) os_index: usize,
    pub(super) core: u64,
    /// Those that share the last cache level.
    pub(super) cluster: u64,
    pub(super) node: u64,
    pub(super) package: u64,
}

impl Cpu {
    pub(super) fn distance_to(&self, other: &Self) -> Distance {
        let shared = |of: fn(&Self) -> u64| of(self) == of(other);
        Distance::of_shared([
            shared(|cpu| cpu.core),
            shared(|cpu| cpu.cluster),
            shared(|cpu| cpu.node),
            shared(|cpu| cpu.package),
        ])
    }
}

/// In the order in which bees get them: a thread of each core, neighbours beside each other, and then the siblings.
pub(super) fn in_order_of_use(cpus: &[Cpu]) -> Vec<Cpu> {
    cpus::siblings_last(cpus, |cpu| cpu.core)
}

/// The CPUs of the machine that an XML file of hwloc's or a synthetic description names, in hwloc's order.
#[cfg(feature = "hwloc")]
pub(super) fn read(description: &str) -> Result<Vec<Cpu>, String> {
    hwloc::read(description).map_err(|error| format!("--machine {description}: {error}"))
}

#[cfg(not(feature = "hwloc"))]
pub(super) fn read(description: &str) -> Result<Vec<Cpu>, String> {
    Err(format!("--machine {description}: this hive-bench was built without hwloc, which reads it"))
}

#[cfg(all(test, feature = "hwloc"))]
mod tests {
    use super::*;

    fn distances(description: &str) -> Vec<Distance> {
        let cpus = read(description).unwrap();
        cpus[1..].iter().map(|other| cpus[0].distance_to(other)).collect()
    }

    #[test]
    fn distances_follow_what_is_shared() {
        use Distance::{Cluster, Core, Far, Node, Package};
        assert_eq!(distances("pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1"), [Cluster, Node, Node, Far, Far, Far, Far]);
        assert_eq!(distances("pack:1 group:2 [numa(memory=1GB)] l3:1 core:1 pu:2"), [Core, Package, Package]);
    }

    #[test]
    fn siblings_come_last() {
        let cpus = in_order_of_use(&read("pack:1 core:2 pu:2").unwrap());
        assert_eq!(cpus.iter().map(|cpu| cpu.os_index).collect::<Vec<_>>(), [0, 2, 1, 3]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(read("pack:no").unwrap_err().contains("pack:no"));
        assert!(read("/nowhere.xml").unwrap_err().contains("/nowhere.xml"));
    }
}
