//! The machine as things within things, from those of hwloc's objects that say something.

use std::collections::{BTreeSet, HashSet};

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::BuildFlags;

use super::kinds::Kinds;
use crate::system::cpus;

/// A hardware thread, or something that has some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    /// By the system's number.
    Cpu(usize),
    Group {
        kind: Kind,
        name: String,
        memory: Vec<String>,
        parts: Vec<Thing>,
    },
}

/// What a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Core,
    /// Package, die, shared cache, or a group that only the system's makers understand.
    Other,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) root: Thing,
    /// CPUs that the machine has and the system has switched off.
    pub(crate) offline: Vec<usize>,
    pub(crate) kinds: Kinds,
    /// How many there are of what.
    pub(crate) summary: String,
    /// The CPUs that this process may use. `None` for the description of another machine, where all count.
    allowed: Option<BTreeSet<usize>>,
}

impl Map {
    /// Asks hwloc, for parts of the machine as well that this process may not use.
    pub(crate) fn read() -> Result<Self, String> {
        let builder = Topology::builder().with_flags(BuildFlags::INCLUDE_DISALLOWED);
        let builder = builder.map_err(|error| format!("hwloc does not show what a process may not use: {error}"))?;
        let topology = builder.build().map_err(|error| format!("hwloc could not read the machine: {error}"))?;
        let allowed = topology.is_this_system().then(|| cpus::in_order_of_use().into_iter().collect());
        let number = |cpu: hwlocality::bitmap::BitmapIndex| usize::from(cpu);
        let online = topology.cpuset();
        let offline = topology.complete_cpuset().iter_set().filter(|cpu| !online.is_set(*cpu)).map(number).collect();
        let survey = Survey::of(&topology);
        let (root, summary) = (survey.machine(), summary(&topology));
        Ok(Self { root, offline, kinds: survey.kinds, summary, allowed })
    }

    /// Whether hwloc was told to describe another machine than this one.
    pub(crate) fn is_foreign(&self) -> bool {
        self.allowed.is_none()
    }

    pub(crate) fn may_use(&self, cpu: usize) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&cpu))
    }
}

impl Thing {
    /// In the machine's order.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        match self {
            Self::Cpu(cpu) => vec![*cpu],
            Self::Group { parts, .. } => parts.iter().flat_map(Self::cpus).collect(),
        }
    }
}

fn summary(topology: &Topology) -> String {
    let count = |kind: ObjectType, name: &str| {
        let count = topology.objects_with_type(kind).count();
        format!("{count} {name}{}", if count == 1 { "" } else { "s" })
    };
    let parts = [
        count(ObjectType::Package, "package"),
        count(ObjectType::NUMANode, "NUMA node"),
        count(ObjectType::L3Cache, "third-level cache"),
        count(ObjectType::Core, "core"),
        count(ObjectType::PU, "hardware thread"),
    ];
    let whose =
        if topology.is_this_system() { "" } else { "; another machine than this one, on which nobody can be bound" };
    format!("{}{whose}", parts.join(", "))
}

/// What has to be known of the whole machine to name its parts.
struct Survey<'t> {
    topology: &'t Topology,
    kinds: Kinds,
    /// The nodes of which some CPU has its memory, by hwloc's count.
    homes: HashSet<usize>,
}

impl<'t> Survey<'t> {
    fn of(topology: &'t Topology) -> Self {
        let homes = topology.objects_with_type(ObjectType::PU).filter_map(|cpu| home(topology, cpu)).collect();
        Self { topology, kinds: Kinds::read(topology), homes }
    }

    fn machine(&self) -> Thing {
        let root = self.topology.root_object();
        let mut found = self.things(root);
        if found.len() == 1 { found.remove(0) } else { self.group(root, found) }
    }

    /// What an object becomes in the picture: one thing, or only its contents if the object says nothing by itself.
    fn things(&self, object: &TopologyObject) -> Vec<Thing> {
        if object.object_type() == ObjectType::PU {
            return object.os_index().map(Thing::Cpu).into_iter().collect();
        }
        let parts: Vec<Thing> = object.normal_children().flat_map(|child| self.things(child)).collect();
        let says_something = match object.object_type() {
            ObjectType::L1Cache | ObjectType::L2Cache => object.normal_children().count() > 1,
            kind => !kind.is_cpu_instruction_cache(),
        };
        let is_shown = says_something || object.memory_arity() > 0;
        if is_shown && !is_for_memory(object) { vec![self.group(object, parts)] } else { parts }
    }

    fn group(&self, object: &TopologyObject, parts: Vec<Thing>) -> Thing {
        let kind = if object.object_type() == ObjectType::Core { Kind::Core } else { Kind::Other };
        let below = object.normal_children().filter(|child| is_for_memory(child)).flat_map(nodes);
        let memory = nodes(object).into_iter().chain(below).map(|node| self.memory(node)).collect();
        let speed = match parts[..] {
            [Thing::Cpu(cpu), ..] if kind == Kind::Core => self.kinds.of(cpu),
            _ => None,
        };
        let name = speed.map_or_else(|| name(object), |speed| format!("{}, {speed}", name(object)));
        Thing::Group { kind, name, memory, parts }
    }

    fn memory(&self, node: &TopologyObject) -> String {
        let number = node.os_index().map_or_else(|| "?".to_owned(), |number| number.to_string());
        let size = match node.attributes() {
            Some(ObjectAttributes::NUMANode(node)) => node.local_memory().map_or(0, u64::from),
            _ => 0,
        };
        let size = if size == 0 { "no memory".to_owned() } else { bytes(size) };
        let has_cpus = self.homes.contains(&node.logical_index());
        format!("NUMA node {number}: {size}{}", if has_cpus { "" } else { ", no CPUs" })
    }
}

/// The node on which a CPU has its memory, by the same rule as in hive: among the nodes that hwloc calls local to the
/// CPU, the one that is local to the fewest other CPUs.
///
/// (For hwloc a node without CPUs is local to all CPUs that are equally far from it.)
fn home(topology: &Topology, cpu: &TopologyObject) -> Option<usize> {
    let cpu = cpu.os_index()?;
    let local = |node: &&TopologyObject| node.cpuset().is_some_and(|cpus| cpus.is_set(cpu));
    let reach = |node: &&TopologyObject| node.cpuset().and_then(|cpus| cpus.weight());
    topology.objects_with_type(ObjectType::NUMANode).filter(local).min_by_key(reach).map(TopologyObject::logical_index)
}

/// Whether hwloc has made this group up for a node that has no place among the others.
fn is_for_memory(object: &TopologyObject) -> bool {
    object.object_type() == ObjectType::Group && object.normal_children().count() == 0
}

/// The nodes that hang on an object, behind a memory-side cache or not.
fn nodes(object: &TopologyObject) -> Vec<&TopologyObject> {
    let below =
        |child| if TopologyObject::object_type(child) == ObjectType::NUMANode { vec![child] } else { nodes(child) };
    object.memory_children().flat_map(below).collect()
}

/// Packages and cores by hwloc's own count, which has no gaps; caches by their size.
fn name(object: &TopologyObject) -> String {
    let number = object.logical_index();
    match (object.object_type(), object.attributes()) {
        (_, Some(ObjectAttributes::Cache(cache))) => {
            let size = cache.size().map_or_else(String::new, |size| format!(", {}", bytes(size.into())));
            format!("L{} {number}{size}", cache.depth())
        }
        (ObjectType::Machine, _) => "machine".to_owned(),
        (kind, _) => format!("{} {number}", kind.to_string().to_lowercase()),
    }
}

/// In the largest unit in which the value is at least one.
fn bytes(count: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let (unit, name) = units.into_iter().find(|(unit, _)| count >= *unit).unwrap_or((1, "B"));
    if count.is_multiple_of(unit) {
        format!("{} {name}", count / unit)
    } else {
        format!("{:.1} {name}", count as f64 / unit as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(description: &str) -> Topology {
        Topology::builder().from_synthetic(description).unwrap().build().unwrap()
    }

    #[test]
    fn things_are_where_hwloc_has_them() {
        let topology = machine("pack:2 [numa(memory=2GB)] l3:2 core:2 pu:2");
        let root = Survey::of(&topology).machine();
        let Thing::Group { parts: packages, .. } = &root else { panic!("a group") };
        let Thing::Group { name, memory, parts: caches, .. } = &packages[1] else { panic!("a group") };
        assert_eq!((name.as_str(), memory.len(), caches.len()), ("package 1", 1, 2));
        assert!(memory[0].starts_with("NUMA node 1: ") && !memory[0].contains("no CPUs"), "{memory:?}");
        assert_eq!(root.cpus(), (0..16).collect::<Vec<_>>());
        assert!(
            summary(&topology)
                .starts_with("2 packages, 2 NUMA nodes, 4 third-level caches, 8 cores, 16 hardware threads")
        );
    }

    #[test]
    fn a_cache_of_one_core_says_nothing() {
        let topology = machine("pack:1 l2:2 core:1 pu:1");
        let cpus = |thing: &Thing| matches!(thing, Thing::Group { kind: Kind::Core, .. });
        let Thing::Group { parts, .. } = Survey::of(&topology).machine() else { panic!("a group") };
        let [Thing::Group { parts, .. }] = &parts[..] else { panic!("one package") };
        assert!(parts.len() == 2 && parts.iter().all(cpus), "{parts:?}");
    }

    #[test]
    fn a_node_without_cpus_is_the_machine_s() {
        // As hwloc describes a guest whose third node has no CPUs, and is as far from one of the others as from the
        // other.
        let topology = Topology::builder().from_xml(include_str!("memory_in_a_group.xml")).unwrap().build().unwrap();
        let Thing::Group { name, memory, parts, .. } = Survey::of(&topology).machine() else { panic!("a group") };
        assert_eq!(
            (name.as_str(), parts.len(), memory),
            ("machine", 2, vec!["NUMA node 2: 1 GiB, no CPUs".to_owned()])
        );
        let Thing::Group { memory, .. } = &parts[1] else { panic!("a group") };
        assert_eq!(memory[..], ["NUMA node 1: 1 GiB"]);
    }

    #[test]
    fn sizes_are_round() {
        assert_eq!([0, 1023, 32 << 20, 3 << 29].map(bytes), ["0 B", "1023 B", "32 MiB", "1.5 GiB"]);
    }
}
