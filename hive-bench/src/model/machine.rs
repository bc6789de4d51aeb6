//! The machine that is asked about, from hwloc: which CPUs there are and what they share.

use std::path::Path;

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;

use crate::system::topology::Place;

/// The CPUs of the machine that an XML file of hwloc's or a synthetic description names, in hwloc's order.
pub(super) fn read(description: &str) -> Result<Vec<Place>, String> {
    cpus(description).map_err(|error| format!("--machine {description}: {error}"))
}

fn cpus(description: &str) -> Result<Vec<Place>, String> {
    // A synthetic description has a colon in its first word, as in "pack:2", and is no file.
    let builder = if description.contains(':') && !Path::new(description).exists() {
        Topology::builder().from_synthetic(description).map_err(|error| format!("no synthetic description: {error}"))
    } else {
        // Not by hwlocality's `from_xml_file`, which panics over a file that is not there.
        let xml = std::fs::read_to_string(description).map_err(|error| {
            format!(
                "cannot be read: {error}; `lstopo machine.xml` writes a file, and \"pack:2 core:4 pu:1\" is a machine"
            )
        })?;
        Topology::builder().from_xml(&xml).map_err(|error| format!("hwloc does not take it as XML: {error}"))
    };
    let topology = builder?.build().map_err(|error| format!("hwloc cannot make a machine of it: {error}"))?;
    let nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
    let all: Vec<Place> =
        topology.objects_with_type(ObjectType::PU).filter_map(|pu| describe(&topology, &nodes, pu)).collect();
    if all.is_empty() { Err("hwloc finds no CPU in it".to_owned()) } else { Ok(all) }
}

fn describe(topology: &Topology, nodes: &[&TopologyObject], pu: &TopologyObject) -> Option<Place> {
    let cpu = pu.os_index()?;
    let core = pu.first_ancestor_with_type(ObjectType::Core).unwrap_or(pu);
    let package = pu.first_ancestor_with_type(ObjectType::Package).unwrap_or_else(|| topology.root_object());
    // Memory at a higher place is local to more CPUs.
    let local = nodes.iter().filter(|node| node.cpuset().is_some_and(|cpus| cpus.is_set(cpu)));
    let node = local.min_by_key(|node| weight(node)).copied().unwrap_or(package);
    // Any names, equal for CPUs of the same unit.
    let key = |object: &TopologyObject| object.global_persistent_index() as usize;
    let cluster = last_cache(core).unwrap_or(package);
    let [core, cluster] = [core, cluster].map(|object| key(object).to_string());
    Some(Place { cpu, core, cluster: Some(cluster), node: Some(key(node)), package: Some(key(package)) })
}

/// As hive has it: the outermost cache below the package, if it is of the third level or several cores share it.
fn last_cache(core: &TopologyObject) -> Option<&TopologyObject> {
    let below_package = core.ancestors().take_while(|ancestor| ancestor.object_type() != ObjectType::Package);
    let outermost = below_package.filter(|ancestor| ancestor.object_type().is_cpu_data_cache()).last()?;
    let is_low = matches!(outermost.object_type(), ObjectType::L1Cache | ObjectType::L2Cache);
    (!is_low || weight(outermost) > weight(core)).then_some(outermost)
}

fn weight(object: &TopologyObject) -> usize {
    object.cpuset().and_then(|cpus| cpus.weight()).unwrap_or(0)
}

#[cfg(test)]
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
