//! Reads the machine by the library hwloc: cores and their kinds, hardware threads, caches, NUMA nodes and packages.
//!
//! `read_machine` in `mod.rs` calls [`read`] and takes a flat list of CPUs instead if that fails. `memory/nodes.rs`
//! uses [`read_topology`] and [`nearest_node`] to find the NUMA node of a CPU or of a page of memory.

use std::env;
use std::mem::ManuallyDrop;

use hwlocality::Topology;
use hwlocality::bitmap::BitmapRef;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;

use crate::sys::affinity::OtherThread;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::fork;
use crate::topology::machine::{Machine, RawCpu, slowness};

/// Makes hwloc describe the machine. All of hive's uses of hwloc begin with this call.
///
/// hwloc takes a process-wide lock of its own when a description is created and when it is destroyed. A child that is
/// forked at that moment would inherit the lock in its locked state. So no thread forks when it is created, and whoever
/// drops the result has to see to that as well.
///
/// # Errors
/// A message that says why hwloc could not read the machine.
pub(crate) fn read_topology() -> Result<ManuallyDrop<Topology>, String> {
    // If the system refuses to tell the affinity mask, hwloc believes that its buffer was too small and tries larger
    // ones without end. So hive makes the same system call first. (Other systems than Linux have no such call.)
    if let Some(Err(error)) = OtherThread::current().map(|thread| thread.mask()) {
        return Err(format!("{error}; hwloc is not asked then, which would try again without end"));
    }
    let builder = fork::without_forks(Topology::builder);
    // hwloc reads files here and holds no lock, so other threads may fork.
    let built = builder.build().map(ManuallyDrop::new);
    built.map_err(|error| format!("hwloc could not read the machine{}: {error}", override_note()))
}

/// The environment variables by which a user makes hwloc describe another machine.
const OVERRIDE_VARIABLES: [&str; 2] = ["HWLOC_XMLFILE", "HWLOC_SYNTHETIC"];

/// Reads the machine and keeps only the CPUs in `allowed`; `None` keeps all CPUs. Returns the machine and warnings, or
/// a message that says why hwloc could not read a machine with CPUs that the process may use.
pub(crate) fn read(allowed: Option<&CpuMask>) -> Result<(Machine, Vec<String>), String> {
    let topology = read_topology()?;
    let mut warnings = Vec::new();
    let foreign = !topology.is_this_system();
    if foreign {
        warnings.push(format!("hwloc describes another machine{}: binding has no effect", override_note()));
    } else if !override_note().is_empty() && env::var_os("HWLOC_THISSYSTEM").is_none() {
        // The user asked for another machine and hwloc describes this one: hwloc falls back by itself if a file is
        // missing or a description has a mistake, and prints at most a line on standard error. With `HWLOC_THISSYSTEM`
        // the user says that the description is of this machine, so there is nothing to warn about.
        warnings.push(format!("hwloc could not use what it was given{} and describes this machine", override_note()));
    }
    // The affinity mask of a thread says nothing about the CPUs of another machine.
    let allowed = if foreign { None } else { allowed };
    let cpus = read_cpus(&topology, allowed);
    fork::without_forks(|| drop(ManuallyDrop::into_inner(topology)));
    if cpus.is_empty() {
        let wanted = allowed.map(CpuMask::to_string).unwrap_or_default();
        return Err(format!("hwloc{} knows none of the CPUs that this process may use ({wanted})", override_note()));
    }
    let known = cpus.iter().map(|cpu| cpu.os_index).collect();
    let unknown = allowed.map_or_else(CpuMask::new, |allowed| allowed.difference(&known));
    if !unknown.is_empty() {
        let problem = format!("hwloc does not know the allowed CPUs {unknown}");
        // hwloc goes by a list of the CPUs that are online, and the mask is to be believed: see `sysfs.rs`. But what
        // the user has described is all that there is.
        if override_note().is_empty() {
            return Err(problem);
        }
        warnings.push(format!("{problem}: they are not used"));
    }
    Ok((Machine::new(cpus, &format!("read by hwloc {}", version()), foreign), warnings))
}

/// A part of a message, such as " (HWLOC_XMLFILE=...)", if the user made hwloc describe another machine; else an empty
/// text.
fn override_note() -> String {
    let variable = OVERRIDE_VARIABLES.iter().find_map(|name| Some((name, env::var_os(name)?)));
    variable.map(|(name, value)| format!(" ({name}={})", value.to_string_lossy())).unwrap_or_default()
}

/// The version of hwloc's programming interface, such as "2.11.0".
fn version() -> String {
    // One byte each for the minor version and the patch level, and the rest for the major version.
    let version = hwlocality::hwloc_api_version();
    format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff)
}

/// The CPUs that both hwloc and `allowed` permit, in hwloc's logical order, in which CPUs that are next to each other
/// share the most.
fn read_cpus(topology: &Topology, allowed: Option<&CpuMask>) -> Vec<RawCpu> {
    let permitted = topology.allowed_cpuset();
    let nodes: Vec<_> = topology.objects_with_type(ObjectType::NUMANode).collect();
    let kinds = core_kinds(topology);
    topology
        .objects_with_type(ObjectType::PU)
        .filter_map(|pu| {
            let os_index = pu.os_index()?;
            let usable = permitted.is_set(os_index) && allowed.is_none_or(|allowed| allowed.contains(&os_index));
            usable.then(|| RawCpu { slowness: slowness(&kinds, os_index), ..read_cpu(topology, &nodes, pu, os_index) })
        })
        .collect()
}

/// The units that one CPU, hwloc's object `pu`, belongs to. Its slowness is left at 0.
fn read_cpu(topology: &Topology, nodes: &[&TopologyObject], pu: &TopologyObject, os_index: usize) -> RawCpu {
    // Some systems say nothing about cores or packages. In that case a CPU is its own core, or the machine is the
    // package.
    let core = pu.first_ancestor_with_type(ObjectType::Core).unwrap_or(pu);
    let package = pu.first_ancestor_with_type(ObjectType::Package).unwrap_or_else(|| topology.root_object());
    // Without a shared cache, the CPUs of a package form one cluster.
    let cluster = last_level_cache(core).unwrap_or(package);
    // A CPU that is local to no node, for example because its node is switched off, is grouped with the other such CPUs
    // of its package.
    let node = nearest_node(nodes, os_index).unwrap_or(package);
    let keys = [core, cluster, node, package].map(TopologyObject::global_persistent_index);
    RawCpu { os_index, keys, slowness: 0 }
}

/// The CPUs of each kind of core, from the slowest kind to the fastest. Empty if hwloc does not know which kind is
/// faster.
fn core_kinds(topology: &Topology) -> Vec<CpuMask> {
    let kinds = topology.cpu_kinds().into_iter().flatten();
    let known = kinds.filter(|kind| kind.efficiency.is_some());
    known.map(|kind| kind.cpuset.iter_set().map(usize::from).collect()).collect()
}

/// The cache that makes a cluster of the cores around it: the outermost data or unified cache between the core and its
/// package. That is the third level, or a lower level that several cores share. A private first or second level does
/// not make a cluster: it is often the only one to be seen because a hypervisor hides the third level. None: there is
/// no such cache, and the caller takes the package.
fn last_level_cache(core: &TopologyObject) -> Option<&TopologyObject> {
    let outermost = core
        .ancestors()
        .take_while(|ancestor| ancestor.object_type() != ObjectType::Package)
        .filter(|ancestor| ancestor.object_type().is_cpu_data_cache())
        .last()?;
    let third_level_or_above = !matches!(outermost.object_type(), ObjectType::L1Cache | ObjectType::L2Cache);
    (third_level_or_above || cpu_count(outermost.cpuset()) > cpu_count(core.cpuset())).then_some(outermost)
}

/// The NUMA node that is nearest to a CPU: of the nodes that the CPU is local to, the one that is local to the fewest
/// CPUs. Memory that is attached higher up, to a package or to the whole machine, is local to more CPUs. If two nodes
/// are local to the same CPUs, such as ordinary memory (DRAM) and high-bandwidth memory, the first one is taken, which
/// is the ordinary memory.
pub(crate) fn nearest_node<'t>(nodes: &[&'t TopologyObject], os_index: usize) -> Option<&'t TopologyObject> {
    let local = nodes.iter().filter(|node| node.cpuset().is_some_and(|cpus| cpus.is_set(os_index)));
    local.min_by_key(|node| cpu_count(node.cpuset())).copied()
}

/// The number of CPUs in a set; 0 if there is no set or if it is infinite.
fn cpu_count(cpus: Option<BitmapRef<'_, CpuSet>>) -> usize {
    cpus.and_then(|cpus| cpus.weight()).unwrap_or(0)
}

#[cfg(test)]
pub(crate) mod described_machines {
    mod tests;
}
#[cfg(test)]
pub(crate) mod tests;
