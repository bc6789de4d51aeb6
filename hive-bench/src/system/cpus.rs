//! The CPUs that this process may use, in the order in which every runtime gets them: one of each
//! core first, then the siblings.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

use hive::Pin;
#[cfg(target_os = "linux")]
use nix::{sched::CpuSet, sched::sched_setaffinity, unistd::Pid};

use crate::system::topology;

/// The CPUs in the order of use: thread i of a team is bound to the i-th.
pub(crate) fn in_order_of_use() -> Vec<usize> {
    let allowed: Vec<usize> =
        core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect();
    if allowed.is_empty() { vec![0] } else { siblings_last(&allowed, |cpu| topology::core_of(*cpu)) }
}

/// How many cores they are of.
pub(crate) fn cores() -> usize {
    in_order_of_use().iter().map(|cpu| topology::core_of(*cpu)).collect::<HashSet<_>>().len()
}

/// CPUs that one flag lists.
pub(crate) type List = Vec<usize>;

/// The CPUs of a list as a user types it, such as `0,2,4-7`. hive has a parser for such lists, which is used here.
pub(crate) fn list(text: &str) -> Result<List, String> {
    match text.parse() {
        Ok(Pin::Cpus(cpus)) => Ok(cpus),
        _ => Err("not a list of CPUs such as 0,2,4-7".to_owned()),
    }
}

/// The listed CPUs, each once, or without a list all CPUs that this process may use. An error names the flag and the
/// CPUs that may be used.
pub(crate) fn chosen(flag: &str, list: Option<&List>) -> Result<Vec<usize>, String> {
    let allowed = in_order_of_use();
    let Some(listed) = list else { return Ok(allowed) };
    if let Some(cpu) = listed.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed = Pin::Cpus(allowed.iter().copied().collect::<BTreeSet<_>>().into_iter().collect());
        return Err(format!("{flag}: this process may not use CPU {cpu}; it may use {allowed}"));
    }
    let mut seen = HashSet::new();
    Ok(listed.iter().copied().filter(|cpu| seen.insert(*cpu)).collect())
}

/// Binds the calling thread to a CPU. Returns `false` if the system cannot do that.
pub(crate) fn pin(cpu: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
}

/// Binds the calling thread to several CPUs. Returns `false` if there are none, or if the system cannot do that.
#[cfg(target_os = "linux")]
pub(crate) fn pin_to_any(cpus: &[usize]) -> bool {
    let mut set = CpuSet::new();
    cpus.iter().all(|cpu| set.set(*cpu).is_ok()) && sched_setaffinity(Pid::from_raw(0), &set).is_ok()
}

/// Binds the calling thread to several CPUs: not implemented on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_to_any(_cpus: &[usize]) -> bool {
    false
}

/// Makes a pool that binds no threads itself. They inherit the binding of the thread that makes them: so the caller
/// gets the first CPU, and the others share the rest.
pub(crate) fn beside_caller<P>(cpus: &[usize], make: impl FnOnce() -> P) -> P {
    pin_to_any(&cpus[1..]);
    let pool = make();
    pin(cpus[0]);
    pool
}

/// The CPU that the calling thread runs on, where the system says.
#[cfg(target_os = "linux")]
pub(crate) fn current() -> Option<usize> {
    nix::sched::sched_getcpu().ok()
}

/// The CPU that the calling thread runs on, where the system says.
#[cfg(not(target_os = "linux"))]
pub(crate) fn current() -> Option<usize> {
    None
}

/// One CPU of each core first, then their siblings.
pub(crate) fn siblings_last<Cpu: Clone, Core: Eq + Hash>(cpus: &[Cpu], core_of: impl Fn(&Cpu) -> Core) -> Vec<Cpu> {
    let mut cores = HashSet::new();
    let (mut first, siblings): (Vec<_>, Vec<_>) = cpus.iter().cloned().partition(|cpu| cores.insert(core_of(cpu)));
    first.extend(siblings);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_core_first() {
        let neighbours = |cpu: &usize| (cpu / 2).to_string();
        assert_eq!(siblings_last(&[0, 1, 2, 3], neighbours), [0, 2, 1, 3]);
        let halves = |cpu: &usize| (cpu % 4).to_string();
        assert_eq!(siblings_last(&[1, 3, 5, 6], halves), [1, 3, 6, 5]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_bound_to_any_of_one_is_there() {
        let last = *in_order_of_use().last().unwrap();
        std::thread::spawn(move || {
            assert!(!pin_to_any(&[]));
            assert!(pin_to_any(&[last]));
            assert_eq!(current(), Some(last));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn lists_are_of_cpus_that_may_be_used() {
        let all = in_order_of_use();
        assert_eq!(chosen("--cpus", None), Ok(all.clone()));
        let twice = list(&format!("{0},{0}", all[0])).unwrap();
        assert_eq!(chosen("--cpus", Some(&twice)), Ok(vec![all[0]]));
        let error = chosen("--cpus", Some(&vec![60_000])).unwrap_err();
        assert!(error.contains("--cpus") && error.contains("60000"), "{error}");
        for wrong in ["", "core", "3-1", "1,"] {
            assert!(list(wrong).unwrap_err().contains("0,2,4-7"), "{wrong}");
        }
    }

    #[test]
    fn there_is_a_cpu() {
        assert!(!in_order_of_use().is_empty());
    }
}
