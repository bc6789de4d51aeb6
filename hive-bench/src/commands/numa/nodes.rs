//! The nodes of this machine, with the CPUs that this process may use.

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;

use crate::system::cpus;

/// With smaller arrays the start and the end of a triad would count for too much.
const SMALLEST_ARRAY: u64 = 64 << 20;

/// What hwloc says of this machine's memory.
#[derive(Debug)]
pub(super) struct Nodes {
    /// The system's numbers of those that have memory.
    pub(super) with_memory: Vec<usize>,
    /// Those that have CPUs which this process may use, with these in the order of use.
    pub(super) with_cpus: Vec<(usize, Vec<usize>)>,
    /// As much memory for an array as STREAM asks for, as far as it is there.
    pub(super) array_bytes: u64,
}

impl Nodes {
    /// An error if hwloc does not describe this machine.
    pub(super) fn read() -> Result<Self, String> {
        let topology = Topology::new().map_err(|error| format!("hwloc could not read the machine: {error}"))?;
        if !topology.is_this_system() {
            return Err("hwloc describes another machine: unset HWLOC_SYNTHETIC and HWLOC_XMLFILE".to_owned());
        }
        let (mut with_memory, mut with_cpus, mut smallest) = (Vec::new(), Vec::new(), u64::MAX);
        for node in topology.objects_with_type(ObjectType::NUMANode) {
            let (Some(number), memory, local) = (node.os_index(), local_memory(node), node.cpuset()) else { continue };
            let is_local = |cpu: &usize| local.is_some_and(|local| local.is_set(*cpu));
            let cpus: Vec<usize> = cpus::in_order_of_use().into_iter().filter(is_local).collect();
            if memory > 0 {
                with_memory.push(number);
                smallest = smallest.min(memory);
            }
            if !cpus.is_empty() {
                with_cpus.push((number, cpus));
            }
        }
        let size = |cache: &TopologyObject| match cache.attributes() {
            Some(ObjectAttributes::Cache(cache)) => cache.size().map_or(0, u64::from),
            _ => 0,
        };
        let caches: u64 = topology.objects_with_type(ObjectType::L3Cache).map(size).sum();
        let most = if with_memory.is_empty() { SMALLEST_ARRAY } else { (smallest / 16).max(1 << 20) };
        Ok(Self { with_memory, with_cpus, array_bytes: SMALLEST_ARRAY.max(4 * caches).min(most) })
    }
}

/// The bytes of a node.
pub(in crate::commands) fn local_memory(node: &TopologyObject) -> u64 {
    match node.attributes() {
        Some(ObjectAttributes::NUMANode(node)) => node.local_memory().map_or(0, u64::from),
        _ => 0,
    }
}
