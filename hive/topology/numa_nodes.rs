//! The NUMA nodes, as Linux describes them under `/sys`: which there are, which of them the process may have memory on,
//! and which CPUs are local to each. The distances between nodes are not read, because hive does not use them, whatever
//! reads the machine.
//!
//! `sysfs.rs` asks for the node of each CPU, and `memory/nodes.rs` for the nodes that memory can be bound to.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::kernel_file;

/// The nodes whose memory the process may use, by the system's numbers, each with the CPUs that are local to it: none
/// if it has memory only.
pub(crate) struct NumaNodes(pub(crate) BTreeMap<usize, CpuMask>);

impl NumaNodes {
    /// Reads the nodes from the files in the directory `root`, usually `/sys`, and keeps only those in what `allowed`
    /// returns; `None` keeps all. Empty if the files cannot be read: the kernel may have been built without NUMA.
    pub(crate) fn read(root: &Path, allowed: impl FnOnce() -> Option<CpuMask>) -> Self {
        let directory = root.join("devices/system/node");
        let list = |name: &str| kernel_file::value::<CpuMask>(directory.join(name)).unwrap_or_default();
        let online = list("online");
        // Every process has memory on some node, so where there is only one, that one is allowed.
        let allowed = if online.len() > 1 { allowed() } else { None };
        let usable = allowed.map_or_else(|| online.clone(), |allowed| online.intersection(&allowed));
        Self(usable.iter().map(|number| (number, list(&format!("node{number}/cpulist")))).collect())
    }

    /// The node that `cpu` is local to, and its CPUs. If there are several, the one with the fewest CPUs.
    pub(crate) fn nearest(&self, cpu: usize) -> Option<(&usize, &CpuMask)> {
        self.0.iter().filter(|(_, cpus)| cpus.contains(&cpu)).min_by_key(|(_, cpus)| cpus.len())
    }
}

/// The numbers of the nodes on which the kernel gives this process memory, by `/proc/self/status`. None: it does not
/// say.
pub(crate) fn allowed() -> Option<CpuMask> {
    kernel_file::status_field(&kernel_file::text("/proc/self/status")?, "Mems_allowed_list")?.parse().ok()
}
