//! The machine that is asked about, from hwloc: which CPUs there are and what they share.

#[cfg(feature = "hwloc")]
mod hwloc;

use crate::system::topology::Place;

/// The CPUs of the machine that an XML file of hwloc's or a synthetic description names, in hwloc's order.
#[cfg(feature = "hwloc")]
pub(super) fn read(description: &str) -> Result<Vec<Place>, String> {
    hwloc::read(description).map_err(|error| format!("--machine {description}: {error}"))
}

#[cfg(not(feature = "hwloc"))]
pub(super) fn read(description: &str) -> Result<Vec<Place>, String> {
    Err(format!("--machine {description}: this hive-bench was built without hwloc, which reads it"))
}

#[cfg(all(test, feature = "hwloc"))]
mod tests {
    use super::*;
    use crate::system::cpus::siblings_last;
    use crate::system::topology::Distance;

    fn distances(description: &str) -> Vec<Distance> {
        let cpus = read(description).unwrap();
        cpus[1..].iter().map(|other| Distance::between(&cpus[0], other)).collect()
    }

    #[test]
    fn distances_follow_what_is_shared() {
        use Distance::{Cluster, Core, Far, Node, Package};
        assert_eq!(distances("pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1"), [Cluster, Node, Node, Far, Far, Far, Far]);
        assert_eq!(distances("pack:1 group:2 [numa(memory=1GB)] l3:1 core:1 pu:2"), [Core, Package, Package]);
    }

    #[test]
    fn siblings_come_last() {
        let cpus = siblings_last(&read("pack:1 core:2 pu:2").unwrap(), |cpu| cpu.core.clone());
        assert_eq!(cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 2, 1, 3]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(read("pack:no").unwrap_err().contains("pack:no"));
        assert!(read("/nowhere.xml").unwrap_err().contains("/nowhere.xml"));
    }
}
