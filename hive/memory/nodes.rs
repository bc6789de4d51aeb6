//! The machine's memory nodes by the system's numbers, and binding memory to them. Called by `placement.rs` before
//! memory is touched, and by `plan.rs` for the node of each bee. Everything here goes through hwloc, or, without the
//! feature `hwloc`, through Linux itself; other systems tell no nodes then.

use std::mem::MaybeUninit;

/// The NUMA nodes whose memory this process may use, by the system's numbers, in rising order. Nodes without CPUs are
/// included. Empty if the nodes are not known: where hwloc cannot read the machine, or, without the feature `hwloc`, on
/// systems other than Linux.
/// Read once in a process.
///
/// All functions of hive that deal with memory use these numbers, as do `numactl`, `/proc/self/numa_maps` and
/// [`node_of`](crate::memory::pages::node_of). [`Place::node`](crate::topology::place_assignment::Place::node) is
/// different: it counts only nodes with CPUs that the process may use, from 0.
/// [`Hive::memory_node`](crate::pool::handle::Hive::memory_node) returns the system's number for such a node.
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

/// The node that is local to all of these CPUs, which are given by the system's numbers. None: they are on several
/// nodes, or the nodes are not known.
pub(crate) fn common_node(cpus: &[usize]) -> Option<usize> {
    let (first, others) = cpus.split_first()?;
    let node = source::local_to(*first)?;
    others.iter().all(|cpu| source::local_to(*cpu) == Some(node)).then_some(node)
}

/// No kernel has nodes with numbers from here on: Linux can be built for up to so many (`CONFIG_NODES_SHIFT`).
const MAX_NODES: usize = 1 << 10;

/// Binds `memory` to `nodes`: its pages will be there if they are touched from now on, or where there is room if these
/// nodes are full. If there are several, they are on each in turn. An error says why the memory could not be bound.
pub(crate) fn bind(memory: &[MaybeUninit<u8>], nodes: &[usize]) -> Result<(), String> {
    check(nodes, &memory_nodes())?;
    source::bind(memory, nodes)
}

/// Checks that there may be such nodes. Where none are `known`, the system is asked, but for no number that it cannot
/// have: what is handed to it has a bit for each number up to the highest.
fn check(nodes: &[usize], known: &[usize]) -> Result<(), String> {
    let may_be = |node: &usize| if known.is_empty() { *node < MAX_NODES } else { known.contains(node) };
    match nodes.iter().find(|node| !may_be(node)) {
        Some(node) if known.is_empty() => Err(format!("no system has a memory node {node}")),
        Some(node) => Err(format!("there is no memory node {node} for this process, only {known:?}")),
        None => Ok(()),
    }
}

#[cfg(feature = "hwloc")]
mod source {
    use std::mem::{ManuallyDrop, MaybeUninit};

    use hwlocality::Topology;
    use hwlocality::bitmap::BitmapIndex;
    use hwlocality::memory::binding::{MemoryBindingFlags, MemoryBindingPolicy};
    use hwlocality::memory::nodeset::NodeSet;
    use hwlocality::object::types::ObjectType;

    use crate::sys::process::PerProcess;
    use crate::topology::hwloc::{nearest_node, read_topology};

    /// The machine as hwloc sees it, read once and kept as long as the process runs, since each binding needs it.
    fn machine() -> Result<&'static ManuallyDrop<Topology>, &'static String> {
        static TOPOLOGY: PerProcess<Result<ManuallyDrop<Topology>, String>> = PerProcess::new();
        TOPOLOGY.get_or_init(read_topology).as_ref()
    }

    /// See `memory_nodes`.
    pub(crate) fn all() -> Vec<usize> {
        let nodes = machine().map(|topology| topology.allowed_nodeset().iter_set().map(usize::from).collect());
        nodes.unwrap_or_default()
    }

    /// The node nearest to `cpu`. All numbers are the system's.
    pub(crate) fn local_to(cpu: usize) -> Option<usize> {
        let topology = machine().ok()?;
        let nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
        nearest_node(&nodes, cpu)?.os_index()
    }

    /// See `super::bind`. The nodes are known to exist, or no nodes are known.
    pub(crate) fn bind(memory: &[MaybeUninit<u8>], nodes: &[usize]) -> Result<(), String> {
        let topology = machine()?;
        if !topology.is_this_system() {
            return Err("hwloc describes another machine".to_owned());
        }
        let policy = if nodes.len() == 1 { MemoryBindingPolicy::Bind } else { MemoryBindingPolicy::Interleave };
        let nodes: Option<NodeSet> = nodes.iter().map(|node| BitmapIndex::try_from(*node).ok()).collect();
        let nodes = nodes.ok_or("hwloc does not know numbers as large as these")?;
        // Not a strict binding: with one, the system would kill the process if a node is full.
        let flags = MemoryBindingFlags::empty();
        topology.bind_memory_area(memory, &nodes, policy, flags).map_err(|error| error.to_string())
    }
}

#[cfg(all(not(feature = "hwloc"), target_os = "linux"))]
mod source {
    use std::mem::MaybeUninit;
    use std::path::Path;
    use std::{io, iter};

    use crate::memory::pages::page_size;
    use crate::sys::process::PerProcess;
    use crate::topology::numa_nodes::NumaNodes;
    use crate::topology::{numa_nodes, sysfs};

    /// The nodes, read once and kept as long as the process runs.
    fn nodes() -> &'static NumaNodes {
        static NODES: PerProcess<NumaNodes> = PerProcess::new();
        NODES.get_or_init(|| NumaNodes::read(Path::new(sysfs::ROOT), numa_nodes::allowed))
    }

    /// See `memory_nodes`.
    pub(crate) fn all() -> Vec<usize> {
        nodes().0.keys().copied().collect()
    }

    /// The node nearest to `cpu`. All numbers are the system's.
    pub(crate) fn local_to(cpu: usize) -> Option<usize> {
        nodes().nearest(cpu).map(|(number, _)| *number)
    }

    /// See `super::bind`. The nodes are known to exist, or no nodes are known.
    pub(crate) fn bind(memory: &[MaybeUninit<u8>], nodes: &[usize]) -> Result<(), String> {
        // Not MPOL_BIND, with which the system would kill the process if a node is full.
        let policy = if nodes.len() == 1 { libc::MPOL_PREFERRED } else { libc::MPOL_INTERLEAVE };
        mbind_syscall(memory, nodes, policy).map_err(|error| format!("mbind failed: {error}"))
    }

    /// Sets the policy of the pages that `memory` lies in.
    #[expect(unsafe_code, reason = "calls the system")]
    fn mbind_syscall(memory: &[MaybeUninit<u8>], nodes: &[usize], policy: libc::c_int) -> io::Result<()> {
        const BITS: usize = libc::c_ulong::BITS as usize;
        let highest = nodes.iter().max().copied().unwrap_or_default();
        let mut mask: Vec<libc::c_ulong> = iter::repeat_n(0, highest / BITS + 1).collect();
        nodes.iter().for_each(|node| mask[node / BITS] |= 1 << (node % BITS));
        let in_page = memory.as_ptr().addr() % page_size();
        let first_page = memory.as_ptr().wrapping_byte_sub(in_page);
        // The kernel looks at one bit less than it is told.
        let (bits, flags) = (mask.len() * BITS + 1, 0);
        // SAFETY: the kernel reads `bits` bits from `mask`, as far as there are words. It does not access the memory,
        // but sets where its pages will be.
        let result = unsafe {
            libc::syscall(libc::SYS_mbind, first_page, memory.len() + in_page, policy, mask.as_ptr(), bits, flags)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(all(not(feature = "hwloc"), not(target_os = "linux")))]
mod source {
    use std::mem::MaybeUninit;

    pub(crate) fn all() -> Vec<usize> {
        Vec::new()
    }

    pub(crate) fn local_to(_cpu: usize) -> Option<usize> {
        None
    }

    pub(crate) fn bind(_memory: &[MaybeUninit<u8>], _nodes: &[usize]) -> Result<(), String> {
        Err("hive was built without hwloc".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_a_node_can_have_are_handed_to_the_system() {
        assert_eq!(check(&[2, 0], &[0, 2]), Ok(()));
        assert!(check(&[0, 1], &[0, 2]).unwrap_err().contains("no memory node 1 for this process, only [0, 2]"));
        // Where no nodes are known.
        assert_eq!(check(&[0, MAX_NODES - 1], &[]), Ok(()));
        for node in [MAX_NODES, usize::MAX] {
            assert_eq!(check(&[0, node], &[]), Err(format!("no system has a memory node {node}")));
        }
    }
}
