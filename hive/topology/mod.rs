//! The machine as plain data, and which places a team's members get on it.
//!
//! [`read`] says what the machine looks like, [`Places`] which CPUs a member is for, [`cpu_quota`] how many CPUs' worth of
//! time the process may use, [`claim`] keeps the hives of a process apart. Nothing here changes a thread: that is `pin.rs`.

pub(crate) mod affinity;
mod binding;
mod claims;
mod flat;
#[cfg(feature = "hwloc")]
mod hwloc;
mod listed;
mod machine;
mod mask;
mod order;
mod place_list;
mod places;
mod policy;
mod proc_bind;
mod quota;

pub(crate) use binding::{Asked, Binding, Contradiction};
pub(crate) use claims::{Claim, claim};
#[cfg(feature = "hwloc")]
pub(crate) use hwloc::{ReadTopology, nearest_node};
pub(crate) use listed::Sharing;
#[cfg(test)]
pub(crate) use machine::RawCpu;
pub(crate) use machine::{Cpu, Machine, Source, Unit};
pub(crate) use mask::CpuMask;
pub use order::Shrink;
pub use place_list::{ParsePlacesError, PlaceList, PlaceUnit};
pub use places::Place;
pub(crate) use places::{PlaceError, Places, default_pin};
pub use policy::{ParsePinError, ParsePolicyError, Pin};
pub use proc_bind::ProcBind;
#[cfg(target_os = "linux")]
pub(crate) use quota::group_directories;
pub(crate) use quota::{Quota, cpu_quota, usable_cpus};

/// The machine within the allowed CPUs (`None`: the system does not tell, so all of them), and what was not as it should be.
///
/// Never fails: where hwloc cannot read the machine, a flat list of CPUs takes its place and a warning says why. Costs
/// milliseconds with hwloc: read once and keep it.
pub(crate) fn read(allowed: Option<&CpuMask>) -> (Machine, Vec<String>) {
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
