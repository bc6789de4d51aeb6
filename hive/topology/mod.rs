//! The machine as plain data, and the CPUs that each bee of a hive runs on.
//!
//! While a hive is built, [`machine_info`] reads the machine and the limits on the process, [`binding_request`]
//! combines what the program and the environment ask for, and [`place_map`] gives each bee a place that no other hive
//! of the process has, as far as that is possible. Later, each worker's thread binds itself to its place by
//! [`pinning`], and the queen's thread by [`affinity_guard`]; these two are the only files here that change a thread.
//! The settings and their meaning are described in `docs/places.md`.

pub(crate) mod affinity_guard;
pub(crate) mod binding_request;
pub(crate) mod claims;
pub(crate) mod flat;
#[cfg(feature = "hwloc")]
pub(crate) mod hwloc;
pub(crate) mod machine;
pub(crate) mod machine_info;
#[cfg(target_os = "linux")]
pub(crate) mod numa_nodes;
pub(crate) mod pin_policy;
pub(crate) mod pinning;
pub(crate) mod place_assignment;
pub(crate) mod place_list;
pub(crate) mod place_map;
pub(crate) mod place_policy;
pub(crate) mod proc_bind;
pub(crate) mod quota;
pub(crate) mod shrink;
#[cfg(target_os = "linux")]
pub(crate) mod sysfs;

#[cfg(target_os = "linux")]
use std::path::Path;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::Machine;
#[cfg(target_os = "linux")]
use crate::topology::numa_nodes::NumaNodes;

#[cfg(feature = "hwloc")]
pub(crate) use crate::topology::hwloc::{HwlocTopology, nearest_node};
#[cfg(test)]
pub(crate) use crate::topology::machine::RawCpu;

/// Reads the machine and keeps only the CPUs in `allowed`. `None` means that the system does not tell which CPUs are
/// allowed; all of them are kept then. Also returns warnings about what could not be read as it should be.
///
/// This function never fails: what hwloc cannot read is read from the system's files, and if these cannot be read
/// either, it returns a flat list of CPUs. A warning says why. With hwloc it takes milliseconds, so callers keep the
/// result.
pub(crate) fn read_machine(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    #[cfg(feature = "hwloc")]
    {
        hwloc::read(allowed).unwrap_or_else(|reason| {
            let (machine, mut warnings) = read_without_hwloc(allowed);
            warnings.insert(0, format!("{reason}; the machine is read from the system's files"));
            (machine, warnings)
        })
    }
    #[cfg(not(feature = "hwloc"))]
    {
        read_without_hwloc(allowed)
    }
}

/// The same without hwloc.
#[cfg(target_os = "linux")]
fn read_without_hwloc(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    let root = Path::new(sysfs::ROOT);
    let nodes = NumaNodes::read(root, numa_nodes::allowed);
    match sysfs::read(root, &nodes, allowed) {
        Ok(read) => read,
        Err(reason) => (flat::read(allowed), vec![format!("{reason}; the machine is taken for a flat list of CPUs")]),
    }
}

/// Other systems do not describe themselves in files.
#[cfg(not(target_os = "linux"))]
fn read_without_hwloc(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    (flat::read(allowed), Vec::new())
}
