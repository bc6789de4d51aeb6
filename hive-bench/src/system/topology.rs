//! How the CPUs of a machine belong together, as Linux tells it: cores, caches, nodes, packages.

use std::fs;

/// One CPU and what it belongs to. What the system does not tell is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cpu: usize,
    /// The CPUs of its core, such as `0,64`.
    pub(crate) core: String,
    pub(crate) caches: Vec<Cache>,
    pub(crate) node: Option<usize>,
    pub(crate) package: Option<usize>,
}

/// A cache that a CPU reads data through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) level: usize,
    /// The CPUs that share it, such as `0-7`.
    pub(crate) cpus: String,
}

impl Place {
    /// The CPUs that share the outermost cache that the system tells of.
    pub(crate) fn last_cache(&self) -> Option<&str> {
        let cache = self.caches.iter().max_by_key(|cache| cache.level)?;
        (!cache.cpus.is_empty()).then_some(&cache.cpus)
    }

    /// Sorted by this, CPUs that share much are near each other.
    pub(crate) fn neighbourhood(&self) -> impl Ord + use<> {
        let first = |list: &str| list.split([',', '-']).next().and_then(|number| number.parse::<usize>().ok());
        (self.package, self.node, self.last_cache().and_then(first), first(&self.core), self.cpu)
    }
}

/// The places of these CPUs, in their order.
pub(crate) fn places(cpus: &[usize]) -> Vec<Place> {
    cpus.iter().map(|cpu| place(*cpu)).collect()
}

fn place(cpu: usize) -> Place {
    let home = format!("/sys/devices/system/cpu/cpu{cpu}");
    let core = text(&format!("{home}/topology/thread_siblings_list")).unwrap_or_else(|| cpu.to_string());
    let package = text(&format!("{home}/topology/physical_package_id")).and_then(|text| text.parse().ok());
    let caches = (0..16).map_while(|index| cache(&format!("{home}/cache/index{index}"))).flatten().collect();
    Place { cpu, core, caches, node: node(&home), package }
}

/// `None` if there is no cache with this index, and `Some(None)` if it holds instructions only.
fn cache(home: &str) -> Option<Option<Cache>> {
    let level = text(&format!("{home}/level"))?.parse().ok()?;
    if text(&format!("{home}/type"))? == "Instruction" {
        return Some(None);
    }
    Some(Some(Cache { level, cpus: text(&format!("{home}/shared_cpu_list")).unwrap_or_default() }))
}

/// The node of a CPU: the CPU's directory has a link to it.
fn node(home: &str) -> Option<usize> {
    let entries = fs::read_dir(home).ok()?.flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()).next()
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_a_place_whatever_the_system_tells() {
        let places = places(&[1_000_000, 0]);
        assert_eq!(places[0], Place { cpu: 1_000_000, core: "1000000".to_owned(), ..Place::default() });
        assert_eq!(places[1].cpu, 0);
        assert!(!places[1].core.is_empty());
    }
}
