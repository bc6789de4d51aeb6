//! The machine as hwloc sees it.

#[cfg(test)]
pub(crate) mod described_machines;
#[cfg(test)]
pub(crate) mod tests;

use std::env;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use hwlocality::Topology;
use hwlocality::bitmap::BitmapRef;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;

use crate::sys::affinity;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::fork;
use crate::topology::machine::{Machine, RawCpu, TopologySource};

/// hwloc's description of the machine. hwloc has a lock for the whole process where one begins and where it ends, so no thread forks meanwhile.
pub(crate) struct HwlocTopology(ManuallyDrop<Topology>);

impl HwlocTopology {
    /// Every description of hwloc's begins here.
    ///
    /// # Errors
    /// If there is none, in words.
    pub(crate) fn new() -> Result<Self, String> {
        unusable_reason().map_or(Ok(()), Err)?;
        let builder = fork::without_forks(Topology::builder);
        // Files are read here, and no lock is held.
        let built =
            builder.build().map_err(|error| format!("hwloc could not read the machine{}: {error}", override_note()))?;
        Ok(Self(ManuallyDrop::new(built)))
    }
}

/// hwloc takes a refusal of the affinity mask for a mask that is too small, and tries larger ones without end. So it is
/// not asked where hive is refused it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn unusable_reason() -> Option<String> {
    affinity::query_error().map(|error| format!("{error}; hwloc is not asked then, which would try again without end"))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn unusable_reason() -> Option<String> {
    None
}

impl Deref for HwlocTopology {
    type Target = Topology;

    fn deref(&self) -> &Topology {
        &self.0
    }
}

#[expect(unsafe_code, reason = "drops what is dropped by hand")]
impl Drop for HwlocTopology {
    fn drop(&mut self) {
        // SAFETY: this is the end of it.
        fork::without_forks(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// The variables by which a user makes hwloc describe another machine.
const OVERRIDE_VARIABLES: [&str; 2] = ["HWLOC_XMLFILE", "HWLOC_SYNTHETIC"];

/// The machine within the allowed CPUs, and warnings; or why there is none.
pub(crate) fn read(allowed: Option<&CpuMask>) -> Result<(Machine, Vec<String>), String> {
    let topology = HwlocTopology::new()?;
    let mut warnings = Vec::new();
    let foreign = !topology.is_this_system();
    if foreign {
        warnings.push(format!("hwloc describes another machine{}: binding has no effect", override_note()));
    } else if !override_note().is_empty() && env::var_os("HWLOC_THISSYSTEM").is_none() {
        // hwloc falls back by itself, with at most a line on stderr, when a file is missing or a description has a mistake.
        warnings.push(format!("hwloc could not use what it was given{} and describes this machine", override_note()));
    }
    // This thread's mask says nothing about another machine.
    let allowed = if foreign { None } else { allowed };
    let cpus = read_cpus(&topology, allowed);
    if cpus.is_empty() {
        let wanted = allowed.map(CpuMask::to_string).unwrap_or_default();
        return Err(format!("hwloc{} knows none of the CPUs that this process may use ({wanted})", override_note()));
    }
    warnings.extend(allowed.and_then(|allowed| unknown_cpus_warning(&cpus, allowed)));
    Ok((Machine::new(cpus, TopologySource::Hwloc { version: version() }, foreign), warnings))
}

/// " (HWLOC_XMLFILE=...)" if hwloc was told to describe another machine, else nothing.
fn override_note() -> String {
    let variable = OVERRIDE_VARIABLES.iter().find_map(|name| Some((name, env::var_os(name)?)));
    variable.map(|(name, value)| format!(" ({name}={})", value.display())).unwrap_or_default()
}

/// hwloc may leave out CPUs that the mask has, such as those that were switched off between the two readings.
fn unknown_cpus_warning(cpus: &[RawCpu], allowed: &CpuMask) -> Option<String> {
    let unknown = allowed.difference(&cpus.iter().map(|cpu| cpu.os_index).collect());
    (!unknown.is_empty()).then(|| format!("hwloc does not know the allowed CPUs {unknown}: they are not used"))
}

fn version() -> String {
    let version = hwlocality::hwloc_api_version();
    format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff)
}

/// The allowed CPUs in hwloc's logical order, in which neighbours share most.
fn read_cpus(topology: &Topology, allowed: Option<&CpuMask>) -> Vec<RawCpu> {
    let permitted = topology.allowed_cpuset();
    let nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
    let kinds = core_kinds(topology);
    topology
        .objects_with_type(ObjectType::PU)
        .filter_map(|pu| {
            let os_index = pu.os_index()?;
            let usable = permitted.is_set(os_index) && allowed.is_none_or(|allowed| allowed.contains(os_index));
            usable.then(|| RawCpu { slowness: slowness(&kinds, os_index), ..read_cpu(topology, &nodes, pu, os_index) })
        })
        .collect()
}

fn read_cpu(topology: &Topology, nodes: &[&TopologyObject], pu: &TopologyObject, os_index: usize) -> RawCpu {
    // Some systems tell of CPUs only: then a CPU is its own core, and the machine is the package.
    let core = pu.first_ancestor_with_type(ObjectType::Core).unwrap_or(pu);
    let package = pu.first_ancestor_with_type(ObjectType::Package).unwrap_or_else(|| topology.root_object());
    let key = TopologyObject::global_persistent_index;
    RawCpu {
        os_index,
        core: key(core),
        cluster: key(last_level_cache(core).unwrap_or(package)),
        // A CPU that is local to no node, as when its node is switched off, goes with the others of its package.
        node: key(nearest_node(nodes, os_index).unwrap_or(package)),
        package: key(package),
        slowness: 0,
    }
}

/// The CPUs of each kind of core, from the slowest to the fastest. None where hwloc does not know which is faster.
fn core_kinds(topology: &Topology) -> Vec<CpuSet> {
    let kinds = topology.cpu_kinds().into_iter().flatten();
    kinds.filter(|kind| kind.efficiency.is_some()).map(|kind| kind.cpuset).collect()
}

/// How many kinds are faster than the CPU's; a CPU of a kind that nobody knows of counts among the fastest.
fn slowness(kinds: &[CpuSet], os_index: usize) -> u64 {
    kinds.iter().rev().position(|cpus| cpus.is_set(os_index)).unwrap_or(0) as u64
}

/// The outermost data or unified cache between the core and its package: the third level, or a lower one if several cores
/// share it. A private cache does not make a cluster: hypervisors often hide the third level.
fn last_level_cache(core: &TopologyObject) -> Option<&TopologyObject> {
    let outermost = core
        .ancestors()
        .take_while(|ancestor| ancestor.object_type() != ObjectType::Package)
        .filter(|ancestor| ancestor.object_type().is_cpu_data_cache())
        .last()?;
    let third_level_or_above = !matches!(outermost.object_type(), ObjectType::L1Cache | ObjectType::L2Cache);
    (third_level_or_above || cpu_count(outermost.cpuset()) > cpu_count(core.cpuset())).then_some(outermost)
}

/// The node that has the CPU and the fewest others: memory that is attached higher up, to a package or to the machine, is local
/// to more CPUs. Of two memories at the same place (DRAM and high-bandwidth memory) the first is the ordinary one.
pub(crate) fn nearest_node<'t>(nodes: &[&'t TopologyObject], os_index: usize) -> Option<&'t TopologyObject> {
    let local = nodes.iter().filter(|node| node.cpuset().is_some_and(|cpus| cpus.is_set(os_index)));
    local.min_by_key(|node| cpu_count(node.cpuset())).copied()
}

fn cpu_count(cpus: Option<BitmapRef<'_, CpuSet>>) -> usize {
    cpus.and_then(|cpus| cpus.weight()).unwrap_or(0)
}
