//! The machine's memory nodes by the system's numbers, and binding memory to them.

use std::mem::MaybeUninit;

/// Where the pages of some memory are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// On the one node, or where there is room if it is full.
    On,
    /// On one node after the other.
    Across,
}

/// The NUMA nodes whose memory this process may use, by the system's numbers, in rising order: those without CPUs among them. Empty where they are not known: without the `hwloc` feature, or
/// where hwloc cannot read the machine. Read once in a process.
///
/// All of hive's memory goes by these numbers, which `numactl`, `/proc/self/numa_maps` and [`node_of`](crate::node_of) have as well. [`Place::node`](crate::Place::node) counts
/// only nodes with CPUs that the process may use, from 0; [`Hive::memory_node`](crate::Hive::memory_node) has the system's number of such a one.
///
/// ```
/// for node in hive::memory_nodes() {
///     let data = hive::global().alloc(1 << 20, hive::Placement::Bind(node), |_| 0_u8);
///     println!("node {node}: {:?}", hive::node_of(&data[0]));
/// }
/// ```
pub fn memory_nodes() -> Vec<usize> {
    source::all()
}

/// The node that is local to all of these CPUs, which have the system's numbers.
pub(crate) fn local_to(cpus: &[usize]) -> Option<usize> {
    let (first, others) = cpus.split_first()?;
    let node = source::local_to(*first)?;
    others.iter().all(|cpu| source::local_to(*cpu) == Some(node)).then_some(node)
}

/// Has those pages of `memory` be on `nodes` that are touched from now on. Or says why not.
pub(super) fn bind(memory: &[MaybeUninit<u8>], nodes: &[usize], policy: Policy) -> Result<(), String> {
    let known = memory_nodes();
    match nodes.iter().find(|node| !known.contains(node)) {
        Some(node) if !known.is_empty() => Err(format!("there is no memory node {node} for this process, only {known:?}")),
        _ => source::bind(memory, nodes, policy),
    }
}

#[cfg(feature = "hwloc")]
mod source {
    use std::mem::MaybeUninit;

    use hwlocality::bitmap::BitmapIndex;
    use hwlocality::memory::binding::{MemoryBindingFlags, MemoryBindingPolicy};
    use hwlocality::memory::nodeset::NodeSet;
    use hwlocality::object::types::ObjectType;

    use super::Policy;
    use crate::process::ProcessCell;
    use crate::topology::{self, ReadTopology};

    /// The machine, for as long as the process runs: binding needs it.
    fn machine() -> Result<&'static ReadTopology, &'static String> {
        static TOPOLOGY: ProcessCell<Result<ReadTopology, String>> = ProcessCell::new();
        TOPOLOGY.get_or_make(ReadTopology::new).as_ref()
    }

    pub(super) fn all() -> Vec<usize> {
        let nodes = machine().map(|topology| topology.allowed_nodeset().iter_set().map(usize::from).collect());
        nodes.unwrap_or_default()
    }

    pub(super) fn local_to(cpu: usize) -> Option<usize> {
        let topology = machine().ok()?;
        let nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
        topology::nearest_node(&nodes, cpu)?.os_index()
    }

    pub(super) fn bind(memory: &[MaybeUninit<u8>], nodes: &[usize], policy: Policy) -> Result<(), String> {
        let topology = machine()?;
        if !topology.is_this_system() {
            return Err("hwloc describes another machine".to_owned());
        }
        let nodes: Option<NodeSet> = nodes.iter().map(|node| BitmapIndex::try_from(*node).ok()).collect();
        let nodes = nodes.ok_or("hwloc does not know numbers as large as these")?;
        let policy = match policy {
            Policy::On => MemoryBindingPolicy::Bind,
            Policy::Across => MemoryBindingPolicy::Interleave,
        };
        // Not strictly: a node that is full must not end the process.
        let flags = MemoryBindingFlags::empty();
        topology.bind_memory_area(memory, &nodes, policy, flags).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "hwloc"))]
mod source {
    use std::mem::MaybeUninit;

    use super::Policy;

    pub(super) fn all() -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn local_to(_cpu: usize) -> Option<usize> {
        None
    }

    pub(super) fn bind(_memory: &[MaybeUninit<u8>], _nodes: &[usize], _policy: Policy) -> Result<(), String> {
        Err("hive was built without hwloc".to_owned())
    }
}
