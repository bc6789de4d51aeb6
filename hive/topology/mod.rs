//! The machine as plain data, and the CPUs that each bee of a hive runs on.
//!
//! While a hive is built, [`machine_info`] reads the machine and the limits on the process, [`binding_request`]
//! combines what the program and the environment ask for, and [`place_map`] gives each bee a place that no other hive
//! has, as far as that is possible. Later, each worker's thread binds itself to its place by
//! [`pinning`], which also binds the queen's; it is the only file here that changes a thread. The settings and their
//! meaning are described in `docs/places.md`.

pub(crate) mod binding_request;
pub(crate) mod claims;
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

use std::num::NonZero;
use std::thread;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{FLAT, Machine, RawCpu};

/// Reads the machine and keeps only the CPUs in `allowed`. `None` means that the system does not tell which CPUs are
/// allowed; all of them are kept then. Also returns warnings about what could not be read as it should be.
///
/// This function never fails: what hwloc cannot read is read from the system's files, and if these cannot be read
/// either, it returns a flat list of CPUs. A warning says why. With hwloc it takes milliseconds, so callers keep the
/// result.
pub(crate) fn read_machine(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    let mut warnings = Vec::new();
    #[cfg(feature = "hwloc")]
    match hwloc::read(allowed) {
        Ok(read) => return read,
        Err(reason) => warnings.push(format!("{reason}; the machine is read from the system's files")),
    }
    let (machine, further) = read_without_hwloc(allowed);
    warnings.extend(further);
    (machine, warnings)
}

/// The same without hwloc.
#[cfg(target_os = "linux")]
fn read_without_hwloc(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    let nodes = numa_nodes::NumaNodes::read(sysfs::ROOT.as_ref(), numa_nodes::allowed);
    let warning = |reason| format!("{reason}; the machine is taken for a flat list of CPUs");
    let read = sysfs::read(sysfs::ROOT.as_ref(), &nodes, allowed);
    read.unwrap_or_else(|reason: String| (read_flat(allowed), vec![warning(reason)]))
}

/// Other systems do not describe themselves in files.
#[cfg(not(target_os = "linux"))]
fn read_without_hwloc(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    (read_flat(allowed), Vec::new())
}

/// Reads the machine as a flat list of CPUs: nothing is known of the cores, caches and nodes that they share.
///
/// The CPUs are those in `allowed`; `None` means those that `core_affinity` lists. If that is none, they are CPUs 0 to
/// `n - 1`, where `n` is how many CPUs the system says it has for this process. Each CPU is a core of its own, and all
/// CPUs are in one cluster, one node and one package.
fn read_flat(allowed: Option<&CpuMask>) -> Machine {
    let listed = || core_affinity::get_core_ids().into_iter().flatten().map(|core| core.id).collect();
    let mut cpus = allowed.cloned().unwrap_or_else(listed);
    if cpus.is_empty() {
        cpus = (0..thread::available_parallelism().map_or(1, NonZero::get)).collect();
    }
    let raw = |cpu| RawCpu { os_index: cpu, keys: [cpu as u64, 0, 0, 0], slowness: 0 };
    Machine::new(cpus.iter().map(raw), FLAT, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::PlaceUnit;

    #[test]
    fn has_the_cpus_that_are_allowed_whatever_else_is_known() {
        for allowed in ["1030-1031", "0,4000"] {
            let allowed = allowed.parse().unwrap();
            assert_eq!(read_flat(Some(&allowed)).mask(), allowed);
        }
        assert_eq!(read_flat(Some(&CpuMask::new())).cpus.len(), thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn every_cpu_is_a_core_and_nothing_is_shared() {
        let machine = read_flat(None);
        assert_eq!(machine.source, FLAT);
        assert!(!machine.is_foreign);
        assert_eq!(machine.unit_count(PlaceUnit::Cores), machine.cpus.len());
        assert_eq!(
            [PlaceUnit::LlCaches, PlaceUnit::NumaDomains, PlaceUnit::Sockets].map(|unit| machine.unit_count(unit)),
            [1, 1, 1]
        );
    }
}
