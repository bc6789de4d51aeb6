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

use crate::sys::cpu_mask::CpuMask;
use crate::sys::kernel_file;
use crate::topology::machine::{Machine, RawCpu, TopologySource};
use crate::topology::numa_nodes::NumaNodes;

/// The directory with the files of this machine.
pub(crate) const ROOT: &str = "/sys";

/// Reads the machine whose files are in the directory `root`, and whose NUMA nodes are `nodes`, and keeps only the CPUs
/// in `allowed`, which is the process's mask; `None` keeps all CPUs that are online. Also returns warnings.
///
/// The kernel leaves CPUs that are not online out of a mask. So if the list of those that are online lacks some of the
/// mask, it is not the kernel's: containers put lists of their own in its place, by which other numbers are online. The
/// mask is believed then.
///
/// # Errors
/// A message that says why the machine could not be read.
pub(crate) fn read(
    root: &Path,
    nodes: &NumaNodes,
    allowed: Option<&CpuMask>,
) -> Result<(Machine, Vec<String>), String> {
    let files = Files(root.join("devices/system/cpu"));
    let file = files.0.join("online");
    let online = files.list("online").ok_or_else(|| format!("{} cannot be read", file.display()))?;
    let usable = allowed.unwrap_or(&online).clone();
    if usable.is_empty() {
        return Err(format!("{} has no CPU", file.display()));
    }
    let unlisted = usable.difference(&online);
    let warning = format!("CPUs {unlisted} are not in {}, which has {online}: the mask is believed", file.display());
    let warnings = if unlisted.is_empty() { Vec::new() } else { vec![warning] };
    let online = online.union(&usable);
    let kinds = core_kinds(root, &files, &usable);
    let mut reader = UnitReader::new(&files, &online);
    let mut cpus: Vec<_> = usable.iter().map(|cpu| reader.units(cpu, nodes)).collect();
    cpus.sort_by_cached_key(Units::position);
    let raw = cpus.iter().map(|units| RawCpu { slowness: slowness(&kinds, units.cpu), ..units.keys() });
    Ok((Machine::new(raw, TopologySource::Sysfs, false), warnings))
}

/// The files in a directory, each of which holds one line.
struct Files(PathBuf);

impl Files {
    /// The text in a file. None: it cannot be read.
    fn text(&self, name: &str) -> Option<String> {
        kernel_file::line(self.0.join(name))
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
    /// The units that hwloc orders CPUs by: those above and some more, but no caches of the first level, which belong
    /// to one core and do not change the order.
    all: Vec<CpuMask>,
}

/// Added to a package's number where that takes the place of the number of a cluster or node, so that it is none of
/// theirs. It is greater than the number of any CPU or node.
const PACKAGE_KEYS: u64 = 1 << 32;

impl Units {
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

/// Reads the units of one CPU after another, and each list once for all CPUs that have the same.
struct UnitReader<'f> {
    files: &'f Files,
    online: &'f CpuMask,
    cores: UnitLists,
    packages: UnitLists,
    dies: UnitLists,
    core_clusters: UnitLists,
    caches: CacheReader,
}

impl<'f> UnitReader<'f> {
    fn new(files: &'f Files, online: &'f CpuMask) -> Self {
        Self {
            files,
            online,
            // Kernels before 5.3 know the second of these names only.
            cores: UnitLists::new(["topology/core_cpus_list", "topology/thread_siblings_list"]),
            packages: UnitLists::new(["topology/package_cpus_list", "topology/core_siblings_list"]),
            dies: UnitLists::new(["topology/die_cpus_list"]),
            core_clusters: UnitLists::new(["topology/cluster_cpus_list"]),
            caches: CacheReader::default(),
        }
    }

    fn units(&mut self, cpu: usize, nodes: &NumaNodes) -> Units {
        let (files, online) = (self.files, self.online);
        // Where nothing is said of cores or packages, a CPU is its own core, and the machine is the package.
        let core = self.cores.of(files, cpu, online).unwrap_or_else(|| CpuMask::from_iter([cpu]));
        let package = self.packages.of(files, cpu, online).unwrap_or_else(|| online.clone());
        let node = nodes.nearest(cpu).map(|node| (node.number, node.cpus.intersection(online)));
        let mut all = Vec::new();
        // Between a core and a package of two cores there is nothing. So if both share a cache, that is all there is to
        // know, and the other files need not be read.
        let shared = (package.len() == 2 * core.len()).then(|| self.caches.outermost(files, cpu, online)).flatten();
        let cluster = if shared.as_ref() == Some(&package) {
            shared
        } else {
            let caches = self.caches.of(files, cpu, online);
            let cluster = last_level_cache(&caches, &core, &package).map(|cache| cache.cpus.clone());
            all.extend(caches.into_iter().map(|cache| cache.cpus));
            all.extend(self.dies.of(files, cpu, online));
            all.extend(self.core_clusters.of(files, cpu, online));
            cluster
        };
        all.extend([core.clone(), package.clone(), CpuMask::from_iter([cpu])]);
        all.extend(node.iter().map(|(_, cpus)| cpus.clone()));
        Units { cpu, core, cluster, node, package, all }
    }
}

/// The units of one kind that have been read so far. All CPUs of a unit have the same list of it, so the list of the
/// first of them is read.
struct UnitLists {
    /// The names that the list's file may have in the directory of a CPU. The first that there is counts.
    names: Vec<String>,
    lists: Vec<CpuMask>,
    /// By CPU, the index in `lists` of its unit.
    known: BTreeMap<usize, usize>,
}

impl UnitLists {
    fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(N::into).collect(), lists: Vec::new(), known: BTreeMap::new() }
    }

    /// The CPUs of the unit of `cpu` that are online. None: the system does not say.
    fn of(&mut self, files: &Files, cpu: usize, online: &CpuMask) -> Option<CpuMask> {
        if let Some(&index) = self.known.get(&cpu) {
            return Some(self.lists[index].clone());
        }
        let read = |name: &String| {
            let cpus = files.list(&format!("cpu{cpu}/{name}"))?.intersection(online);
            cpus.contains(cpu).then_some(cpus)
        };
        let cpus = self.names.iter().find_map(read)?;
        self.known.extend(cpus.iter().map(|cpu| (cpu, self.lists.len())));
        self.lists.push(cpus.clone());
        Some(cpus)
    }
}

/// A cache for data, and the CPUs that share it.
struct Cache {
    level: u64,
    cpus: CpuMask,
}

/// Reads the caches of one CPU after another.
///
/// Linux numbers the caches of a CPU from the first level to the last. CPUs that share their outermost cache have
/// caches of the same levels and kinds under the same numbers, so levels and kinds are read for one of them.
#[derive(Default)]
struct CacheReader {
    /// By number of the cache, who shares it.
    sharers: Vec<UnitLists>,
    kinds: Vec<CacheKinds>,
    /// By CPU, the index in `kinds` of what caches it has.
    known: BTreeMap<usize, usize>,
    /// By CPU, who shares its outermost cache.
    outermost: BTreeMap<usize, CpuMask>,
}

impl CacheReader {
    /// The CPUs that share the outermost cache of a CPU, if that cache has a number as high as usual, and so is for
    /// data.
    fn outermost(&mut self, files: &Files, cpu: usize, online: &CpuMask) -> Option<CpuMask> {
        if !self.outermost.contains_key(&cpu) {
            let lists = (USUAL_LAST_CACHE..).map_while(|number| self.sharers(number).of(files, cpu, online));
            let cpus = lists.last()?;
            self.outermost.extend(cpus.iter().map(|sharer| (sharer, cpus.clone())));
        }
        self.outermost.get(&cpu).cloned()
    }

    /// Who shares the caches with this number.
    fn sharers(&mut self, number: usize) -> &mut UnitLists {
        for next in self.sharers.len()..=number {
            self.sharers.push(UnitLists::new([format!("cache/index{next}/shared_cpu_list")]));
        }
        &mut self.sharers[number]
    }

    /// The caches of a CPU for data, the outermost first. Those of the first level are left out: they belong to one
    /// core.
    fn of(&mut self, files: &Files, cpu: usize, online: &CpuMask) -> Vec<Cache> {
        let index = *self.known.entry(cpu).or_insert(self.kinds.len());
        if index == self.kinds.len() {
            self.kinds.push(CacheKinds::new(files, cpu));
        }
        let mut caches = Vec::new();
        for place in 0.. {
            let Some((number, level)) = self.kinds[index].get(files, place) else { break };
            let Some(cpus) = self.sharers(number).of(files, cpu, online) else { continue };
            if place == 0 {
                self.known.extend(cpus.iter().map(|cpu| (cpu, index)));
            }
            caches.push(Cache { level, cpus });
        }
        caches
    }
}

/// The levels of a CPU's caches for data, from the outermost to the second. They are read when they are asked for.
struct CacheKinds {
    cpu: usize,
    /// The number and the level of each cache read so far.
    read: Vec<(usize, u64)>,
    /// The caches with lower numbers than this one have not been read yet.
    unread: usize,
    /// The level of the one before it, if that is known.
    next_level: Option<u64>,
}

/// The number of the outermost cache of most CPUs: before it come two of the first level and one of the second.
const USUAL_LAST_CACHE: usize = 3;

impl CacheKinds {
    /// Finds out how many caches a CPU has.
    fn new(files: &Files, cpu: usize) -> Self {
        let mut kinds = Self { cpu, read: Vec::new(), unread: USUAL_LAST_CACHE, next_level: None };
        while let Some(level) = kinds.level(files, kinds.unread) {
            (kinds.unread, kinds.next_level) = (kinds.unread + 1, Some(level));
        }
        kinds
    }

    fn level(&self, files: &Files, number: usize) -> Option<u64> {
        files.number(&format!("cpu{}/cache/index{number}/level", self.cpu))
    }

    /// The number and the level of the cache at this place, counted from the outermost. None: there are fewer.
    fn get(&mut self, files: &Files, place: usize) -> Option<(usize, u64)> {
        while self.read.len() <= place && self.unread > 0 {
            self.unread -= 1;
            let number = self.unread;
            match self.next_level.take().or_else(|| self.level(files, number)) {
                // The caches that have not been read have lower numbers, so they are of the first level as well.
                Some(1) => self.unread = 0,
                Some(level) => {
                    let kind = files.text(&format!("cpu{}/cache/index{number}/type", self.cpu));
                    if kind.is_some_and(|kind| kind != "Instruction") {
                        self.read.push((number, level));
                    }
                }
                None => {}
            }
        }
        self.read.get(place).copied()
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

/// The CPUs of each kind of core, from the slowest kind to the fastest: by lists of them, as for hybrid processors of
/// Intel, or by their capacities, of which more is faster, as for ARM and others. Empty if neither is there.
///
/// hwloc also knows clock rates, and tells kinds of cores apart by them then. They are not read here: for a nominal
/// rate the kernel may have to ask the CPU itself, which wakes it; and the highest rates differ between cores of one
/// kind, too.
fn core_kinds(root: &Path, files: &Files, cpus: &CpuMask) -> Vec<CpuMask> {
    let devices = Files(root.join("devices"));
    let kind = |name: &str| devices.list(&format!("{name}/cpus"));
    // Where there are other kinds, there is this one.
    if let Some(fastest) = kind("cpu_core") {
        let slower = [kind("cpu_lowpower"), kind("cpu_atom")];
        return slower.into_iter().flatten().chain([fastest]).collect();
    }
    let mut by_capacity = BTreeMap::<_, Vec<_>>::new();
    // Where the first CPU has none, the others are not asked.
    for (cpu, capacity) in cpus.iter().map_while(|cpu| Some((cpu, files.number(&format!("cpu{cpu}/cpu_capacity"))?))) {
        by_capacity.entry(capacity).or_default().push(cpu);
    }
    by_capacity.into_values().map(CpuMask::from_iter).collect()
}

/// How many of the `kinds` are faster than the kind of this CPU. A CPU of which nothing is known counts as one of the
/// fastest.
fn slowness(kinds: &[CpuMask], cpu: usize) -> u64 {
    kinds.iter().rev().position(|kind| kind.contains(cpu)).unwrap_or(0) as u64
}

#[cfg(test)]
pub(crate) mod tests;
