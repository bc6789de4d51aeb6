//! Reads the machine from the files by which Linux describes it, under `/sys`: cores, hardware threads, caches, NUMA
//! nodes, packages and kinds of cores. It needs no library, and it is fast, because it reads nothing that hive does not
//! use: hwloc takes some hundred times as long.
//!
//! `read_machine` in `mod.rs` calls [`read`] in builds without the feature `hwloc`, and where hwloc cannot read the
//! machine. The result is what hwloc would say, in the same order; `sysfs/tests.rs` holds the two against each other.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, RawCpu, TopologySource};
use crate::topology::numa_nodes::NumaNodes;

/// The directory with the files of this machine.
pub(crate) const ROOT: &str = "/sys";

/// Reads the machine whose files are in the directory `root`, and whose NUMA nodes are `nodes`, and keeps only the CPUs
/// in `allowed`; `None` keeps all CPUs.
///
/// # Errors
/// A message that says why the machine could not be read.
pub(crate) fn read(root: &Path, nodes: &NumaNodes, allowed: Option<&CpuMask>) -> Result<Machine, String> {
    let files = Files(root.join("devices/system/cpu"));
    let online = files.list("online").ok_or_else(|| format!("{} cannot be read", files.0.join("online").display()))?;
    let usable = allowed.map_or_else(|| online.clone(), |allowed| online.intersection(allowed));
    if usable.is_empty() {
        let wanted = allowed.map(CpuMask::to_string).unwrap_or_default();
        return Err(format!("none of the CPUs that this process may use ({wanted}) is online ({online})"));
    }
    let speeds = CoreSpeeds::read(root, &files, &usable);
    let mut cpus: Vec<_> = usable.iter().map(|cpu| Units::read(&files, cpu, &online, nodes)).collect();
    cpus.sort_by_cached_key(Units::position);
    let raw = cpus.iter().map(|units| RawCpu { slowness: speeds.slowness(units.cpu), ..units.keys() });
    Ok(Machine::new(raw, TopologySource::Sysfs, false))
}

/// The files in a directory, each of which holds one line.
struct Files(PathBuf);

impl Files {
    /// The text in a file. None: it cannot be read.
    fn text(&self, name: &str) -> Option<String> {
        Some(fs::read_to_string(self.0.join(name)).ok()?.trim().to_owned())
    }

    /// The list of numbers in a file. None: it cannot be read, or holds something else.
    fn list(&self, name: &str) -> Option<CpuMask> {
        self.text(name)?.parse().ok()
    }

    /// The number in a file. None: it cannot be read, or holds something else.
    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

/// The units that one CPU belongs to: for each, the CPUs in it that are online.
struct Units {
    cpu: usize,
    core: CpuMask,
    /// What shares the cache that makes a cluster. None: there is no such cache.
    cluster: Option<CpuMask>,
    /// The number of the nearest node, and the CPUs that are local to it. None: the CPU is local to no node.
    node: Option<(usize, CpuMask)>,
    package: CpuMask,
    /// All units that hwloc orders CPUs by, those above and some more.
    all: Vec<CpuMask>,
}

/// A number that is greater than that of any CPU, which keeps the keys of packages from those of smaller units.
const PACKAGE_KEYS: u64 = 1 << 32;

impl Units {
    fn read(files: &Files, cpu: usize, online: &CpuMask, nodes: &NumaNodes) -> Self {
        let unit = |name: &str| {
            let cpus = files.list(&format!("cpu{cpu}/topology/{name}"))?.intersection(online);
            cpus.contains(cpu).then_some(cpus)
        };
        // Kernels before 5.3 know the second of these names only. Where nothing is said of cores or packages, a CPU is
        // its own core, and the machine is the package.
        let core = unit("core_cpus_list").or_else(|| unit("thread_siblings_list"));
        let core = core.unwrap_or_else(|| CpuMask::from_iter([cpu]));
        let package = unit("package_cpus_list").or_else(|| unit("core_siblings_list"));
        let package = package.unwrap_or_else(|| online.clone());
        let caches = Cache::read_all(files, cpu, online);
        let cluster = last_level_cache(&caches, &core, &package).map(|cache| cache.cpus.clone());
        let node = nodes.nearest(cpu).map(|node| (node.number, node.cpus.intersection(online)));
        let mut all: Vec<_> = caches.into_iter().map(|cache| cache.cpus).collect();
        all.extend([unit("die_cpus_list"), unit("cluster_cpus_list")].into_iter().flatten());
        all.extend([core.clone(), package.clone(), CpuMask::from_iter([cpu])]);
        all.extend(node.iter().map(|(_, cpus)| cpus.clone()));
        Self { cpu, core, cluster, node, package, all }
    }

    /// Where the CPU comes in the order of the machine: the first CPU of each of its units, from the largest unit to
    /// the smallest. Sorted by this, the CPUs of each unit are next to each other, and the units in each larger one.
    fn position(&self) -> Vec<usize> {
        let mut units: Vec<_> = self.all.iter().collect();
        units.sort_by_key(|unit| Reverse(unit.len()));
        units.into_iter().filter_map(|unit| unit.iter().next()).collect()
    }

    /// The units by keys. Each is the number of the unit's first CPU, or of the node.
    fn keys(&self) -> RawCpu {
        let key = |unit: &CpuMask| unit.iter().next().unwrap_or(self.cpu) as u64;
        let package = key(&self.package);
        RawCpu {
            os_index: self.cpu,
            core: key(&self.core),
            // Without a shared cache, the CPUs of a package form one cluster.
            cluster: self.cluster.as_ref().map_or(PACKAGE_KEYS + package, key),
            // A CPU that is local to no node, for example because its node is switched off, is grouped with the other
            // such CPUs of its package.
            node: self.node.as_ref().map_or(PACKAGE_KEYS + package, |(number, _)| *number as u64),
            package,
            slowness: 0,
        }
    }
}

/// A cache for data, and the CPUs that share it.
struct Cache {
    level: u64,
    cpus: CpuMask,
}

impl Cache {
    /// The caches of a CPU for data.
    fn read_all(files: &Files, cpu: usize, online: &CpuMask) -> Vec<Self> {
        let names = (0..).map(|index| format!("cpu{cpu}/cache/index{index}"));
        let types = names.map_while(|name| Some((files.text(&format!("{name}/type"))?, name)));
        let for_data = types.filter(|(kind, _)| kind != "Instruction");
        let caches = for_data.filter_map(|(_, name)| {
            let cpus = files.list(&format!("{name}/shared_cpu_list"))?.intersection(online);
            Some(Self { level: files.number(&format!("{name}/level"))?, cpus }).filter(|cache| cache.cpus.contains(cpu))
        });
        caches.collect()
    }
}

/// The cache that makes a cluster of the cores around it: the outermost one between the core and its package. That is
/// the third level, or a lower level that several cores share. A private first or second level does not make a cluster:
/// it is often the only one to be seen because a hypervisor hides the third level. None: there is no such cache.
fn last_level_cache<'c>(caches: &'c [Cache], core: &CpuMask, package: &CpuMask) -> Option<&'c Cache> {
    let is_between = |cache: &&Cache| core.is_subset(&cache.cpus) && cache.cpus.is_subset(package);
    let outermost = caches.iter().filter(is_between).max_by_key(|cache| cache.level)?;
    (outermost.level >= 3 || outermost.cpus.len() > core.len()).then_some(outermost)
}

/// How fast the CPUs are, if there are several kinds of cores.
enum CoreSpeeds {
    /// The CPUs of each kind, from the slowest kind to the fastest: hybrid processors of Intel.
    Kinds(Vec<CpuMask>),
    /// Each CPU with its capacity, of which more is faster: ARM and others.
    Capacities(Vec<(usize, u64)>),
}

impl CoreSpeeds {
    fn read(root: &Path, files: &Files, cpus: &CpuMask) -> Self {
        let devices = Files(root.join("devices"));
        let kinds = ["cpu_lowpower", "cpu_atom", "cpu_core"].map(|kind| devices.list(&format!("{kind}/cpus")));
        if kinds.iter().any(Option::is_some) {
            return Self::Kinds(kinds.into_iter().flatten().collect());
        }
        let capacities = cpus.iter().map_while(|cpu| Some((cpu, files.number(&format!("cpu{cpu}/cpu_capacity"))?)));
        Self::Capacities(capacities.collect())
    }

    /// A number that is greater for slower kinds. A CPU of which nothing is known counts as one of the fastest.
    fn slowness(&self, cpu: usize) -> u64 {
        match self {
            Self::Kinds(kinds) => kinds.iter().rev().position(|kind| kind.contains(cpu)).unwrap_or(0) as u64,
            Self::Capacities(capacities) => {
                let capacity = |(of, capacity): &(usize, u64)| (*of == cpu).then_some(*capacity);
                capacities.iter().find_map(capacity).map_or(0, |capacity| u64::from(u32::MAX).saturating_sub(capacity))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
