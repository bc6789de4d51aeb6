//! Reads the machine without hwloc, as a flat list of CPUs: nothing is known of the cores, caches and nodes that they
//! share. `read_machine` in `mod.rs` uses it in builds without the feature `hwloc`, and if hwloc fails.

use std::num::NonZero;
use std::thread;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, RawCpu, TopologySource};

/// The machine with the CPUs in `allowed`; `None` means those that `core_affinity` lists, or if it lists none, CPUs 0
/// to `n - 1`, where `n` is how many CPUs the system says it has for this process. Each CPU is a core of its own, and
/// all CPUs are in one cluster, one node and one package.
pub(crate) fn read(allowed: Option<&CpuMask>) -> Machine {
    let listed = || core_affinity::get_core_ids().into_iter().flatten().map(|core| core.id).collect();
    let mut cpus = allowed.cloned().unwrap_or_else(listed);
    if cpus.is_empty() {
        cpus = (0..thread::available_parallelism().map_or(1, NonZero::get)).collect();
    }
    Machine::new(cpus.iter().map(cpu_as_own_core), TopologySource::Flat, false)
}

/// A CPU that shares its core with no other CPU, and everything else with all CPUs.
fn cpu_as_own_core(cpu: usize) -> RawCpu {
    RawCpu { os_index: cpu, core: cpu as u64, cluster: 0, node: 0, package: 0, slowness: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::Unit;

    #[test]
    fn has_the_cpus_that_are_allowed_whatever_else_is_known() {
        for allowed in ["1030-1031", "0,4000"] {
            let allowed = allowed.parse().unwrap();
            assert_eq!(read(Some(&allowed)).mask(), allowed);
        }
        assert_eq!(read(Some(&CpuMask::new())).cpus().len(), thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn every_cpu_is_a_core_and_nothing_is_shared() {
        let machine = read(None);
        assert_eq!(machine.source(), &TopologySource::Flat);
        assert!(!machine.is_foreign());
        assert_eq!(machine.unit_count(Unit::Core), machine.cpus().len());
        assert_eq!([Unit::Cluster, Unit::Node, Unit::Package].map(|unit| machine.unit_count(unit)), [1, 1, 1]);
    }
}
