//! The machine in words: a line for each of hwloc's objects that says something. The CPUs of a core are on the line of
//! the core.

use std::collections::BTreeSet;
use std::fmt::Write;

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::BuildFlags;

use super::bees::{Bees, list};
use crate::commands::numa::nodes::local_memory;
use crate::system::cpus;

/// The machine.
#[derive(Debug)]
pub(super) struct Map {
    topology: Topology,
    /// The CPUs that this process may use. `None` for the description of another machine, where all count.
    allowed: Option<BTreeSet<usize>>,
}

impl Map {
    /// Asks hwloc, for parts of the machine as well that this process may not use.
    pub(super) fn read() -> Result<Self, String> {
        let builder = Topology::builder().with_flags(BuildFlags::INCLUDE_DISALLOWED);
        let builder = builder.map_err(|error| format!("hwloc does not show what a process may not use: {error}"))?;
        let topology = builder.build().map_err(|error| format!("hwloc could not read the machine: {error}"))?;
        let allowed = topology.is_this_system().then(|| cpus::in_order_of_use().into_iter().collect());
        Ok(Self { topology, allowed })
    }

    /// Whether hwloc was told to describe another machine than this one.
    pub(super) fn is_foreign(&self) -> bool {
        self.allowed.is_none()
    }

    fn may_use(&self, cpu: usize) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&cpu))
    }

    /// All of it, with what the CPUs are used for.
    pub(super) fn text(&self, bees: &Bees) -> String {
        let mut text = self.summary();
        self.write(&mut text, self.topology.root_object(), 0, bees);
        let (online, all) = (self.topology.cpuset(), self.topology.complete_cpuset());
        let off: Vec<usize> = all.iter_set().filter(|cpu| !online.is_set(*cpu)).map(usize::from).collect();
        let left_out: Vec<usize> = online.iter_set().map(usize::from).filter(|cpu| !self.may_use(*cpu)).collect();
        for (name, cpus) in [("left out by the mask", left_out), ("switched off", off)] {
            if !cpus.is_empty() {
                let _ = writeln!(text, "{name}: {}", list(cpus));
            }
        }
        text
    }

    /// How many there are of what.
    fn summary(&self) -> String {
        let names = [
            (ObjectType::Package, "package"),
            (ObjectType::NUMANode, "NUMA node"),
            (ObjectType::L3Cache, "third-level cache"),
            (ObjectType::Core, "core"),
            (ObjectType::PU, "hardware thread"),
        ];
        let count = |(kind, name): (ObjectType, &str)| {
            let count = self.topology.objects_with_type(kind).count();
            format!("{count} {name}{}", if count == 1 { "" } else { "s" })
        };
        let whose =
            if self.is_foreign() { "; another machine than this one, on which nobody can be bound" } else { "" };
        format!("{}{whose}\n", names.map(count).join(", "))
    }

    fn write(&self, text: &mut String, object: &TopologyObject, depth: usize, bees: &Bees) {
        let parts: Vec<_> = object.normal_children().collect();
        let memory = nodes(object);
        let says_something = match object.object_type() {
            ObjectType::L1Cache | ObjectType::L2Cache => parts.len() > 1,
            kind => !kind.is_cpu_instruction_cache(),
        };
        let is_shown = says_something || !memory.is_empty();
        let indent = "  ".repeat(depth);
        let inner = depth + usize::from(is_shown);
        if let Some(cpus) = threads(object) {
            let name = if object.object_type() == ObjectType::Core { name(object) + ": " } else { String::new() };
            let use_of = |cpu| if self.may_use(cpu) { bees.on(cpu) } else { "left out".to_owned() };
            let cpus: Vec<_> = cpus.into_iter().map(|cpu| format!("CPU {cpu} {}", use_of(cpu))).collect();
            let _ = writeln!(text, "{indent}{name}{}", cpus.join("; "));
            return;
        }
        if is_shown {
            let _ = writeln!(text, "{indent}{}", name(object));
        }
        memory.into_iter().for_each(|node| {
            let _ = writeln!(text, "{indent}  {}", memory_of(node));
        });
        parts.into_iter().for_each(|part| self.write(text, part, inner, bees));
    }
}

/// The CPUs of what goes on one line.
fn threads(object: &TopologyObject) -> Option<Vec<usize>> {
    match object.object_type() {
        ObjectType::PU => Some(object.os_index().into_iter().collect()),
        ObjectType::Core if object.memory_arity() == 0 => Some(object.cpuset()?.iter_set().map(usize::from).collect()),
        _ => None,
    }
}

/// The nodes that hang on an object, behind a memory-side cache or not.
fn nodes(object: &TopologyObject) -> Vec<&TopologyObject> {
    let below =
        |child| if TopologyObject::object_type(child) == ObjectType::NUMANode { vec![child] } else { nodes(child) };
    object.memory_children().flat_map(below).collect()
}

fn memory_of(node: &TopologyObject) -> String {
    let number = node.os_index().map_or_else(|| "?".to_owned(), |number| number.to_string());
    let size = local_memory(node);
    format!("NUMA node {number}: {}", if size == 0 { "no memory".to_owned() } else { bytes(size) })
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

    #[test]
    fn sizes_are_round() {
        assert_eq!([0, 1023, 32 << 20, 3 << 29].map(bytes), ["0 B", "1023 B", "32 MiB", "1.5 GiB"]);
    }
}
