//! The machine without hwloc: a list of CPUs, of which nobody knows what they share.

use std::num::NonZero;
use std::thread;

use super::machine::{Machine, RawCpu, Source};
use super::mask::CpuMask;

/// Each CPU a core of its own, all in one cluster, node and package.
pub(crate) fn read(allowed: Option<&CpuMask>) -> Machine {
    // The list is that of the calling thread's own mask, so a thread that hive has pinned must be unpinned here.
    let listed = core_affinity::get_core_ids().unwrap_or_default();
    let listed = listed.into_iter().map(|core| core.id).collect();
    let available = thread::available_parallelism().map_or(1, NonZero::get);
    let cpus = choose(&listed, allowed, available);
    Machine::new(cpus.iter().map(lone_core), Source::Flat, false)
}

/// The listed CPUs that are allowed; the allowed ones where the list knows none of them (it ends at 1,024 CPUs); as many as
/// are said to be available where nothing is known.
fn choose(listed: &CpuMask, allowed: Option<&CpuMask>, available: usize) -> CpuMask {
    let common = allowed.map_or_else(|| listed.clone(), |allowed| listed.intersection(allowed));
    if !common.is_empty() {
        return common;
    }
    match allowed {
        Some(allowed) if !allowed.is_empty() => allowed.clone(),
        _ => (0..available).collect(),
    }
}

fn lone_core(cpu: usize) -> RawCpu {
    RawCpu { os_index: cpu, core: cpu as u64, cluster: 0, node: 0, package: 0, slowness: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::machine::Unit;
    use super::*;

    fn mask(text: &str) -> CpuMask {
        text.parse().unwrap()
    }

    #[test]
    fn takes_the_listed_cpus_that_are_allowed() {
        assert_eq!(choose(&mask("0-3"), Some(&mask("2-9")), 8), mask("2-3"));
        assert_eq!(choose(&mask("0-3"), None, 8), mask("0-3"));
    }

    #[test]
    fn makes_do_with_what_is_known() {
        assert_eq!(choose(&mask(""), Some(&mask("1030-1031")), 8), mask("1030-1031"));
        assert_eq!(choose(&mask("0-3"), Some(&mask("1030")), 8), mask("1030"));
        assert_eq!(choose(&mask(""), Some(&mask("")), 3), mask("0-2"));
        assert_eq!(choose(&mask(""), None, 1), mask("0"));
    }

    #[test]
    fn every_cpu_is_a_core_and_nothing_is_shared() {
        let machine = read(None);
        assert_eq!(machine.source(), &Source::Flat);
        assert!(!machine.is_foreign());
        assert_eq!(machine.count(Unit::Core), machine.cpus().len());
        assert_eq!([Unit::Cluster, Unit::Node, Unit::Package].map(|unit| machine.count(unit)), [1, 1, 1]);
    }
}
