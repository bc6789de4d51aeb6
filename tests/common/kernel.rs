//! The machine as Linux lists it under /sys and /proc. This is read without hwloc and without hive, so that tests can
//! compare both with it.

use std::fs;
use std::path::Path;

use super::{proc_threads, sys};

/// A CPU that this process may use, and for each kind of unit the usable CPUs of the unit that it is in, itself among
/// them.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) number: usize,
    pub(crate) core: Vec<usize>,
    /// The CPUs that share a last-level cache; the whole package if no shared cache is known.
    pub(crate) cluster: Vec<usize>,
    pub(crate) node: Vec<usize>,
    pub(crate) package: Vec<usize>,
}

/// Selects one kind of unit of a CPU.
pub(crate) type UnitOf = fn(&Cpu) -> &Vec<usize>;

impl Cpu {
    fn read(number: usize) -> Option<Self> {
        let directory = format!("/sys/devices/system/cpu/cpu{number}");
        let core = read_list(format!("{directory}/topology/thread_siblings_list"))?;
        let package = read_list(format!("{directory}/topology/core_siblings_list"))?;
        let cluster = last_level_cache(&directory, &core, &package).unwrap_or_else(|| package.clone());
        // A kernel without NUMA support lists no nodes.
        let node = match node_of(number) {
            Some(node) => read_list(format!("/sys/devices/system/node/node{node}/cpulist"))?,
            None => online()?,
        };
        Some(Self { number, core, cluster, node, package })
    }

    /// The first CPUs of the units that it is in, the largest unit first. In this order neighbours share most.
    fn position(&self) -> [usize; 5] {
        [self.package[0], self.node[0], self.cluster[0], self.core[0], self.number]
    }

    fn retain_cpus(&mut self, cpus: &[usize]) {
        for unit in [&mut self.core, &mut self.cluster, &mut self.node, &mut self.package] {
            unit.retain(|cpu| cpus.contains(cpu));
        }
    }
}

/// The CPUs that the calling thread may use, ordered so that neighbours share most. None if the kernel does not list
/// what they share.
pub(crate) fn cpus() -> Option<Vec<Cpu>> {
    let mut cpus = online()?.into_iter().map(Cpu::read).collect::<Option<Vec<_>>>()?;
    cpus.sort_by_key(Cpu::position);
    let allowed = proc_threads::cpus(sys::tid());
    cpus.retain(|cpu| allowed.contains(&cpu.number));
    cpus.iter_mut().for_each(|cpu| cpu.retain_cpus(&allowed));
    Some(cpus)
}

/// The units of this kind, in the order of the CPUs.
pub(crate) fn units(cpus: &[Cpu], unit: UnitOf) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    for cpu in cpus {
        if !units.contains(unit(cpu)) {
            units.push(unit(cpu).clone());
        }
    }
    units
}

/// The NUMA node of a CPU.
pub(crate) fn node_of(cpu: usize) -> Option<usize> {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    entries.flatten().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

/// The CPUs that are online.
pub(crate) fn online() -> Option<Vec<usize>> {
    read_list("/sys/devices/system/cpu/online")
}

/// The CPUs that are offline.
pub(crate) fn offline() -> Option<Vec<usize>> {
    read_list("/sys/devices/system/cpu/offline")
}

/// The nodes whose memory the calling thread may use.
pub(crate) fn memory_nodes() -> Vec<usize> {
    proc_threads::parse_cpu_list(&proc_threads::status(sys::tid(), "Mems_allowed_list"))
}

/// The CPU quota of this process, in CPUs: the smallest of those of its control group and the groups above it. None if
/// there is no limit, or if the system does not use version 2 of control groups.
pub(crate) fn cpu_quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let quotas = Path::new(group).ancestors().filter_map(|group| {
        let text = fs::read_to_string(Path::new("/sys/fs/cgroup").join(group).join("cpu.max")).ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    });
    quotas.min_by(f64::total_cmp)
}

/// The CPUs of the outermost data cache within the package, if that cache is of the third level or shared by several
/// cores.
fn last_level_cache(directory: &str, core: &[usize], package: &[usize]) -> Option<Vec<usize>> {
    let text = |cache: &Path, file: &str| fs::read_to_string(cache.join(file)).ok();
    let caches = fs::read_dir(format!("{directory}/cache")).ok()?.flatten().filter_map(|entry| {
        let cache = entry.path();
        let of_data = text(&cache, "type")?.trim() != "Instruction";
        let level = text(&cache, "level")?.trim().parse::<usize>().ok()?;
        let sharers = read_list(cache.join("shared_cpu_list"))?;
        (of_data && sharers.iter().all(|cpu| package.contains(cpu))).then_some((level, sharers))
    });
    let (level, sharers) = caches.max_by_key(|(level, _)| *level)?;
    (level >= 3 || sharers.len() > core.len()).then_some(sharers)
}

fn read_list(file: impl AsRef<Path>) -> Option<Vec<usize>> {
    Some(proc_threads::parse_cpu_list(fs::read_to_string(file).ok()?.trim()))
}

/// Formats numbers as the kernel does: "0-2,4". An empty list is "-".
pub(crate) fn format_list(numbers: &[usize]) -> String {
    let range =
        |run: &[usize]| if let [one] = run { one.to_string() } else { format!("{}-{}", run[0], run[run.len() - 1]) };
    let ranges: Vec<_> = numbers.chunk_by(|&number, &next| number + 1 == next).map(range).collect();
    if ranges.is_empty() { "-".to_owned() } else { ranges.join(",") }
}
