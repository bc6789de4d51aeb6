//! Reads a description by hwloc.

use std::path::Path;

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;

use crate::system::topology::Place;

pub(super) fn read(description: &str) -> Result<Vec<Place>, String> {
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
    let cpus: Vec<Place> =
        topology.objects_with_type(ObjectType::PU).filter_map(|pu| describe(&topology, &nodes, pu)).collect();
    if cpus.is_empty() { Err("hwloc finds no CPU in it".to_owned()) } else { Ok(cpus) }
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
