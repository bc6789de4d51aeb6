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
    topology: Topology,
    all: Vec<Node>,
}

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    /// The system's number.
    pub(super) number: usize,
    memory: u64,
    /// In the order of use.
    pub(super) cpus: Vec<usize>,
}

impl Nodes {
    /// An error if hwloc does not describe this machine.
    pub(super) fn read() -> Result<Self, String> {
        let topology = Topology::new().map_err(|error| format!("hwloc could not read the machine: {error}"))?;
        if !topology.is_this_system() {
            return Err(
                "hwloc describes another machine, and only this one can be measured: unset HWLOC_SYNTHETIC and \
                 HWLOC_XMLFILE"
                    .to_owned(),
            );
        }
        let allowed = cpus::in_order_of_use();
        let all =
            topology.objects_with_type(ObjectType::NUMANode).filter_map(|object| node(object, &allowed)).collect();
        Ok(Self { topology, all })
    }

    pub(super) fn with_memory(&self) -> impl Iterator<Item = usize> {
        self.all.iter().filter(|node| node.memory > 0).map(|node| node.number)
    }

    pub(super) fn with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.all.iter().filter(|node| !node.cpus.is_empty())
    }

    /// As much memory for an array as STREAM asks for, as far as it is there.
    pub(super) fn array_bytes(&self) -> u64 {
        let size = |cache: &TopologyObject| match cache.attributes() {
            Some(ObjectAttributes::Cache(cache)) => cache.size().map_or(0, u64::from),
            _ => 0,
        };
        let caches: u64 = self.topology.objects_with_type(ObjectType::L3Cache).map(size).sum();
        let smallest = self.all.iter().map(|node| node.memory).filter(|memory| *memory > 0).min();
        SMALLEST_ARRAY.max(4 * caches).min(smallest.map_or(SMALLEST_ARRAY, |memory| (memory / 16).max(1 << 20)))
    }
}

fn node(object: &TopologyObject, allowed: &[usize]) -> Option<Node> {
    let local = object.cpuset();
    let cpus = allowed.iter().copied().filter(|cpu| local.is_some_and(|local| local.is_set(*cpu))).collect();
    Some(Node { number: object.os_index()?, memory: local_memory(object), cpus })
}

/// The bytes of a node.
pub(in crate::commands) fn local_memory(node: &TopologyObject) -> u64 {
    match node.attributes() {
        Some(ObjectAttributes::NUMANode(node)) => node.local_memory().map_or(0, u64::from),
        _ => 0,
    }
}
