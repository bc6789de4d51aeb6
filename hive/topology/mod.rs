//! The machine as plain data, and which places a team's bees get on it.
//!
//! [`read`] says what the machine looks like, [`PlaceAssignment`] which CPUs a bee is for, [`cpu_quota`] how many CPUs' worth of
//! time the process may use, [`claim_free`] keeps the hives of a process apart. Nothing here changes a thread: that is `pinning.rs`.

pub(crate) mod affinity_guard;
pub(crate) mod binding_request;
pub(crate) mod claims;
pub(crate) mod flat;
#[cfg(feature = "hwloc")]
pub(crate) mod hwloc;
pub(crate) mod machine;
pub(crate) mod machine_info;
pub(crate) mod pin_policy;
pub(crate) mod pinning;
pub(crate) mod place_assignment;
pub(crate) mod place_list;
pub(crate) mod place_map;
pub(crate) mod place_policy;
pub(crate) mod proc_bind;
pub(crate) mod quota;
pub(crate) mod shrink;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::Machine;

#[cfg(feature = "hwloc")]
pub(crate) use crate::topology::hwloc::{HwlocTopology, nearest_node};
#[cfg(test)]
pub(crate) use crate::topology::machine::RawCpu;
#[cfg(target_os = "linux")]
pub(crate) use crate::topology::quota::cgroup_directories;

/// The machine within the allowed CPUs (`None`: the system does not tell, so all of them), and what was not as it should be.
///
/// Never fails: where hwloc cannot read the machine, a flat list of CPUs takes its place and a warning says why. Costs
/// milliseconds with hwloc: read once and keep it.
pub(crate) fn read_machine(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
    #[cfg(feature = "hwloc")]
    {
        hwloc::read(allowed).unwrap_or_else(|reason| {
            let warning = format!("{reason}; the machine is taken for a flat list of CPUs");
            (flat::read(allowed), vec![warning])
        })
    }
    #[cfg(not(feature = "hwloc"))]
    {
        (flat::read(allowed), Vec::new())
    }
}
