//! Reads the machine without hwloc, as a flat list of CPUs: nothing is known of the cores, caches and nodes that they
//! share. `read_machine` in `mod.rs` uses it in builds without the feature `hwloc`, and if hwloc fails.

use std::num::NonZero;
use std::thread;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, RawCpu, TopologySource};

/// The machine with the CPUs in `allowed`, as far as they can be listed. Each CPU is a core of its own, and all CPUs
/// are in one cluster, one node and one package.
pub(crate) fn read(allowed: Option<&CpuMask>) -> Machine {
    // `core_affinity` lists the CPUs in the mask of the calling thread. A thread that hive has bound must therefore be
    // unbound before it calls this function.
    let listed = core_affinity::get_core_ids().unwrap_or_default();
    let listed = listed.into_iter().map(|core| core.id).collect();
    let available = thread::available_parallelism().map_or(1, NonZero::get);
    let cpus = select_cpus(&listed, allowed, available);
    Machine::new(cpus.iter().map(cpu_as_own_core), TopologySource::Flat, false)
}

/// Chooses the CPUs of the machine by the first of these rules that gives any:
///
/// - the listed CPUs that are allowed;
/// - the allowed CPUs: `core_affinity`'s list ends at 1,024 CPUs and may therefore contain none of them;
/// - CPUs 0 to `available - 1`, where `available` is how many CPUs the system says it has for this process.
fn select_cpus(listed: &CpuMask, allowed: Option<&CpuMask>, available: usize) -> CpuMask {
    let listed_and_allowed = allowed.map_or_else(|| listed.clone(), |allowed| listed.intersection(allowed));
    if !listed_and_allowed.is_empty() {
        return listed_and_allowed;
    }
    match allowed {
        Some(allowed) if !allowed.is_empty() => allowed.clone(),
        _ => (0..available).collect(),
    }
}

/// A CPU that shares its core with no other CPU, and everything else with all CPUs.
fn cpu_as_own_core(cpu: usize) -> RawCpu {
    RawCpu { os_index: cpu, core: cpu as u64, cluster: 0, node: 0, package: 0, slowness: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::Unit;

    fn mask(text: &str) -> CpuMask {
        text.parse().unwrap()
    }

    #[test]
    fn takes_the_listed_cpus_that_are_allowed() {
        assert_eq!(select_cpus(&mask("0-3"), Some(&mask("2-9")), 8), mask("2-3"));
        assert_eq!(select_cpus(&mask("0-3"), None, 8), mask("0-3"));
    }

    #[test]
    fn makes_do_with_what_is_known() {
        assert_eq!(select_cpus(&mask(""), Some(&mask("1030-1031")), 8), mask("1030-1031"));
        assert_eq!(select_cpus(&mask("0-3"), Some(&mask("1030")), 8), mask("1030"));
        assert_eq!(select_cpus(&mask(""), Some(&mask("")), 3), mask("0-2"));
        assert_eq!(select_cpus(&mask(""), None, 1), mask("0"));
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
