//! The machine without hwloc: a list of CPUs, of which nobody knows what they share.

use std::num::NonZero;
use std::thread;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, RawCpu, TopologySource};

/// Each CPU a core of its own, all in one cluster, node and package.
pub(crate) fn read(allowed: Option<&CpuMask>) -> Machine {
    // The list is that of the calling thread's own mask, so a thread that hive has pinned must be unpinned here.
    let listed = core_affinity::get_core_ids().unwrap_or_default();
    let listed = listed.into_iter().map(|core| core.id).collect();
    let available = thread::available_parallelism().map_or(1, NonZero::get);
    let cpus = select_cpus(&listed, allowed, available);
    Machine::new(cpus.iter().map(cpu_as_own_core), TopologySource::Flat, false)
}

/// The listed CPUs that are allowed; the allowed ones where the list knows none of them (it ends at 1,024 CPUs); as many as
/// are said to be available where nothing is known.
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
