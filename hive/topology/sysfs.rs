//! Reads the machine from the files by which Linux describes it, under `/sys`: cores, hardware threads, caches, NUMA
//! nodes, packages and kinds of cores. It needs no library, and it is fast, because it reads nothing that hive does not
//! use: hwloc takes some hundred times as long.
//!
//! `read_machine` in `mod.rs` calls [`read`] in builds without the feature `hwloc`, and where hwloc cannot read the
//! machine. The result is what hwloc would say, in the same order, but for kinds of cores that hwloc tells apart by
//! their clock rates (`core_kinds`); `sysfs/tests.rs` holds the two against each other.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::kernel_file;
use crate::topology::machine::{Machine, RawCpu, slowness};
use crate::topology::numa_nodes::NumaNodes;

/// The directory with the files of this machine.
pub(crate) const ROOT: &str = "/sys";

/// Reads the machine whose files are in the directory `root`, and whose NUMA nodes are `nodes`, and keeps only the CPUs
/// in `mask`, which is the process's; `None` keeps all CPUs that are online. Also returns warnings.
///
/// The kernel leaves CPUs that are not online out of a mask. So if the list of those that are online lacks some of the
/// mask, it is not the kernel's: containers put lists of their own in its place, by which other numbers are online. The
/// mask is believed then.
///
/// # Errors
/// A message that says why the machine could not be read.
pub(crate) fn read(root: &Path, nodes: &NumaNodes, mask: Option<&CpuMask>) -> Result<(Machine, Vec<String>), String> {
    let directory = root.join("devices/system/cpu");
    let file = directory.join("online");
    let online: CpuMask = kernel_file::value(&file).ok_or_else(|| format!("{} cannot be read", file.display()))?;
    let usable = mask.unwrap_or(&online).clone();
    if usable.is_empty() {
        return Err(format!("{} has no CPU", file.display()));
    }
    let unlisted = usable.difference(&online);
    let warning = format!("CPUs {unlisted} are not in {}, which has {online}: the mask is believed", file.display());
    let warnings = if unlisted.is_empty() { Vec::new() } else { vec![warning] };
    let online = online.union(&usable);
    let kinds = core_kinds(root, &directory, &usable);
    let mut reader =
        UnitReader { directory: &directory, online: &online, units: BTreeMap::new(), cache_levels: BTreeMap::new() };
    let mut cpus: Vec<_> = usable.iter().map(|cpu| reader.units(cpu, nodes)).collect();
    cpus.sort_by(|(position, _), (other, _)| position.cmp(other));
    let raw = cpus.into_iter().map(|(_, keys)| RawCpu { slowness: slowness(&kinds, keys.os_index), ..keys });
    Ok((Machine::new(raw, "read from /sys", false), warnings))
}

/// A file of a CPU.
fn file_of(directory: &Path, cpu: usize, name: &str) -> PathBuf {
    directory.join(format!("cpu{cpu}/{name}"))
}

/// Added to a package's number where that takes the place of the number of a cluster or node, so that it is none of
/// theirs. It is greater than the number of any CPU or node.
const PACKAGE_KEYS: u64 = 1 << 32;

/// The names that the lists of a core and of a package have in the directory of a CPU. Kernels before 5.3 know the
/// second of each only.
const CORE_LISTS: [&str; 2] = ["topology/core_cpus_list", "topology/thread_siblings_list"];
const PACKAGE_LISTS: [&str; 2] = ["topology/package_cpus_list", "topology/core_siblings_list"];

/// The number of the outermost cache of most CPUs: before it come two of the first level and one of the second.
const USUAL_LAST_CACHE: usize = 3;

/// Reads the units of one CPU after another, and each list once for all CPUs that have the same.
struct UnitReader<'f> {
    /// Has a directory of each CPU.
    directory: &'f Path,
    online: &'f CpuMask,
    /// By the name of a list and by CPU, the unit of that CPU.
    units: BTreeMap<String, BTreeMap<usize, Rc<CpuMask>>>,
    /// By CPU, the caches that it has (`cache_levels`).
    cache_levels: BTreeMap<usize, Rc<[(usize, u64)]>>,
}

impl UnitReader<'_> {
    /// Where a CPU comes in the order of the machine, and its units by keys: each is the number of the unit's first
    /// CPU, or of the node.
    ///
    /// The position is the first CPU of each of its units, from the largest unit to the smallest. Sorted by this, the
    /// CPUs of each unit are next to each other, and the units in each larger one. The units are those that hwloc
    /// orders CPUs by, but no caches of the first level, which belong to one core and do not change the order.
    fn units(&mut self, cpu: usize, nodes: &NumaNodes) -> (Vec<usize>, RawCpu) {
        // Where nothing is said of cores or packages, a CPU is its own core, and the machine is the package.
        let core = self.unit(cpu, &CORE_LISTS).unwrap_or_else(|| Rc::new(CpuMask::from_iter([cpu])));
        let package = self.unit(cpu, &PACKAGE_LISTS).unwrap_or_else(|| Rc::new(self.online.clone()));
        let node = nodes.nearest(cpu);
        let mut units = Vec::new();
        // Between a core and a package of two cores there is nothing. So if both share a cache, that is all there is to
        // know, and the other files need not be read.
        let shared = (package.len() == 2 * core.len()).then(|| self.outermost_cache(cpu)).flatten();
        let cluster = if shared.as_ref() == Some(&package) {
            shared
        } else {
            let caches = self.caches(cpu);
            let cluster = last_level_cache(&caches, &core, &package);
            units.extend(caches.into_iter().map(|(_, cpus)| cpus));
            units.extend(self.unit(cpu, &["topology/die_cpus_list"]));
            units.extend(self.unit(cpu, &["topology/cluster_cpus_list"]));
            cluster
        };
        units.extend([core.clone(), package.clone(), Rc::new(CpuMask::from_iter([cpu]))]);
        units.extend(node.map(|(_, cpus)| Rc::new(cpus.intersection(self.online))));
        let key = |unit: &CpuMask| unit.iter().next().unwrap_or(cpu) as u64;
        let package = key(&package);
        // Without a shared cache, the CPUs of a package form one cluster.
        let cluster = cluster.map_or(PACKAGE_KEYS + package, |cpus| key(&cpus));
        // A CPU that is local to no node, for example because its node is switched off, is grouped with the other such
        // CPUs of its package.
        let node = node.map_or(PACKAGE_KEYS + package, |(&number, _)| number as u64);
        let keys = RawCpu { os_index: cpu, keys: [key(&core), cluster, node, package], slowness: 0 };
        units.sort_by_key(|unit| Reverse(unit.len()));
        (units.iter().filter_map(|unit| unit.iter().next()).collect(), keys)
    }

    /// The CPUs of a unit of `cpu` that are online, by the first of the lists `names` that there is. None: the system
    /// does not say. All CPUs of a unit have the same list of it, so the list of the first of them is read.
    fn unit(&mut self, cpu: usize, names: &[&str]) -> Option<Rc<CpuMask>> {
        let known = self.units.entry(names[0].to_owned()).or_default();
        if let Some(cpus) = known.get(&cpu) {
            return Some(cpus.clone());
        }
        let read = |name: &&str| {
            let cpus = kernel_file::value::<CpuMask>(file_of(self.directory, cpu, name))?.intersection(self.online);
            cpus.contains(&cpu).then_some(cpus)
        };
        let cpus = Rc::new(names.iter().find_map(read)?);
        known.extend(cpus.iter().map(|cpu| (cpu, cpus.clone())));
        Some(cpus)
    }

    /// The CPUs that share the cache of `cpu` with this number.
    fn sharers(&mut self, cpu: usize, cache: usize) -> Option<Rc<CpuMask>> {
        self.unit(cpu, &[&format!("cache/index{cache}/shared_cpu_list")])
    }

    /// The CPUs that share the outermost cache of a CPU, if that cache has a number as high as usual, and so is for
    /// data.
    fn outermost_cache(&mut self, cpu: usize) -> Option<Rc<CpuMask>> {
        (USUAL_LAST_CACHE..).map_while(|number| self.sharers(cpu, number)).last()
    }

    /// The levels of a CPU's caches for data, and who shares each, the outermost first. Those of the first level are
    /// left out: they belong to one core.
    ///
    /// CPUs that share their outermost cache have caches of the same levels and kinds under the same numbers, so levels
    /// and kinds are read for one of them.
    fn caches(&mut self, cpu: usize) -> Vec<(u64, Rc<CpuMask>)> {
        let known = self.cache_levels.get(&cpu).cloned();
        let levels = known.unwrap_or_else(|| cache_levels(self.directory, cpu).into());
        let outermost = levels.first().and_then(|&(number, _)| self.sharers(cpu, number));
        self.cache_levels.extend(outermost.iter().flat_map(|cpus| cpus.iter()).map(|cpu| (cpu, levels.clone())));
        levels.iter().filter_map(|&(number, level)| Some((level, self.sharers(cpu, number)?))).collect()
    }
}

/// The numbers and the levels of a CPU's caches for data, from the outermost to the second level. Linux numbers the
/// caches of a CPU from the first level to the last.
fn cache_levels(directory: &Path, cpu: usize) -> Vec<(usize, u64)> {
    let file = |number, name| file_of(directory, cpu, &format!("cache/index{number}/{name}"));
    let level = |number| Some((number, kernel_file::value(file(number, "level"))?));
    let is_for_data = |number| kernel_file::line(file(number, "type")).is_some_and(|kind| kind != "Instruction");
    let outer: Vec<_> = (USUAL_LAST_CACHE..).map_while(level).collect();
    // After one of the first level come only others of it, which are not read.
    let levels = outer.into_iter().rev().chain((0..USUAL_LAST_CACHE).rev().filter_map(level));
    levels.take_while(|&(_, level)| level != 1).filter(|&(number, _)| is_for_data(number)).collect()
}

/// The cache that makes a cluster of the cores around it: the outermost one between the core and its package. That is
/// the third level, or a lower level that several cores share. A private first or second level does not make a cluster:
/// it is often the only one to be seen because a hypervisor hides the third level. None: there is no such cache.
fn last_level_cache(caches: &[(u64, Rc<CpuMask>)], core: &CpuMask, package: &CpuMask) -> Option<Rc<CpuMask>> {
    let is_between = |(_, cpus): &&(u64, Rc<CpuMask>)| core.is_subset(cpus) && cpus.is_subset(package);
    let (level, cpus) = caches.iter().filter(is_between).max_by_key(|(level, _)| *level)?;
    (*level >= 3 || cpus.len() > core.len()).then(|| cpus.clone())
}

/// The CPUs of each kind of core, from the slowest kind to the fastest: by lists of them, as for hybrid processors of
/// Intel, or by their capacities, of which more is faster, as for ARM and others. Empty if neither is there.
///
/// hwloc also knows clock rates, and tells kinds of cores apart by them then. They are not read here: for a nominal
/// rate the kernel may have to ask the CPU itself, which wakes it; and the highest rates differ between cores of one
/// kind, too.
fn core_kinds(root: &Path, directory: &Path, cpus: &CpuMask) -> Vec<CpuMask> {
    let kind = |name: &str| kernel_file::value(root.join("devices").join(name).join("cpus"));
    // Where there are other kinds, there is this one.
    if let Some(fastest) = kind("cpu_core") {
        let slower = [kind("cpu_lowpower"), kind("cpu_atom")];
        return slower.into_iter().flatten().chain([fastest]).collect();
    }
    let mut by_capacity = BTreeMap::<_, Vec<_>>::new();
    // Where the first CPU has none, the others are not asked.
    let capacity = |cpu| Some((kernel_file::value::<u64>(file_of(directory, cpu, "cpu_capacity"))?, cpu));
    for (capacity, cpu) in cpus.iter().map_while(capacity) {
        by_capacity.entry(capacity).or_default().push(cpu);
    }
    by_capacity.into_values().map(CpuMask::from_iter).collect()
}

#[cfg(test)]
pub(crate) mod tests;
