//! How the CPUs of a machine belong together, as Linux tells it: cores, caches, nodes, packages.

use std::fs;

use crate::catalog::named;

/// One CPU and what it belongs to. What the system does not tell is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cpu: usize,
    /// The CPUs of its core, such as `0,64`.
    pub(crate) core: String,
    /// The CPUs that share the last-level cache.
    pub(crate) cluster: Option<String>,
    pub(crate) node: Option<usize>,
    pub(crate) package: Option<usize>,
}

impl Place {
    /// Sorted by this, CPUs that share much are near each other.
    pub(crate) fn neighbourhood(&self) -> impl Ord + use<> {
        let first = |list: &str| list.split([',', '-']).next().and_then(|number| number.parse::<usize>().ok());
        (self.package, self.node, self.cluster.as_deref().and_then(first), first(&self.core), self.cpu)
    }
}

/// Where this CPU is.
pub(crate) fn place(cpu: usize) -> Place {
    let home = format!("/sys/devices/system/cpu/cpu{cpu}");
    let package = text(&format!("{home}/topology/physical_package_id")).and_then(|text| text.parse().ok());
    let caches = (0..16).map_while(|index| cache(&format!("{home}/cache/index{index}"))).flatten();
    let cluster = caches.max_by_key(|(level, _)| *level).map(|(_, cpus)| cpus).filter(|cpus| !cpus.is_empty());
    Place { cpu, core: core_of(cpu), cluster, node: node(&home), package }
}

/// The CPUs of its core, as the system lists them.
pub(super) fn core_of(cpu: usize) -> String {
    text(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).unwrap_or_else(|| cpu.to_string())
}

/// `None` if there is no cache with this index, and `Some(None)` if it holds instructions only.
fn cache(home: &str) -> Option<Option<(usize, String)>> {
    let level: usize = text(&format!("{home}/level"))?.parse().ok()?;
    if text(&format!("{home}/type"))? == "Instruction" {
        return Some(None);
    }
    Some(Some((level, text(&format!("{home}/shared_cpu_list")).unwrap_or_default())))
}

/// The node of a CPU: the CPU's directory has a link to it.
fn node(home: &str) -> Option<usize> {
    let entries = fs::read_dir(home).ok()?.flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()).next()
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

named! {
    /// From near to far.
    Distance {
        Core "core" "threads of one core";
        Cluster "cluster" "cores at one last-level cache";
        Node "node" "caches of one node";
        Package "package" "nodes of one package";
        Far "far" "packages, or whatever else shares nothing that the system tells of";
    }
}

impl Distance {
    pub(crate) fn between(one: &Place, other: &Place) -> Self {
        let same = |of: fn(&Place) -> Option<usize>| of(one).is_some() && of(one) == of(other);
        let cluster = one.cluster.is_some() && one.cluster == other.cluster;
        let shared = [one.core == other.core, cluster, same(|place| place.node), same(|place| place.package)];
        shared.iter().position(|shared| *shared).map_or(Self::Far, |nearest| Self::ALL[nearest])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_a_place_whatever_the_system_tells() {
        let places = [1_000_000, 0].map(super::place);
        assert_eq!(places[0], Place { cpu: 1_000_000, core: "1000000".to_owned(), ..Place::default() });
        assert_eq!(places[1].cpu, 0);
        assert!(!places[1].core.is_empty());
    }

    pub(crate) fn place(cpu: usize, core: &str, cache: &str, node: usize, package: usize) -> Place {
        let [core, cluster] = [core, cache].map(str::to_owned);
        Place { cpu, core, cluster: Some(cluster), node: Some(node), package: Some(package) }
    }

    #[test]
    fn the_nearest_thing_shared_counts() {
        let here = place(0, "0,8", "0-1,8-9", 0, 0);
        let others = [
            place(8, "0,8", "0-1,8-9", 0, 0),
            place(1, "1,9", "0-1,8-9", 0, 0),
            place(2, "2,10", "2-3,10-11", 0, 0),
            place(4, "4,12", "4-5,12-13", 1, 0),
            place(6, "6,14", "6-7,14-15", 2, 1),
        ];
        assert_eq!(others.each_ref().map(|other| Distance::between(&here, other)), Distance::ALL);
    }

    #[test]
    fn what_is_not_known_is_not_shared() {
        let bare = |cpu: usize| Place { cpu, core: cpu.to_string(), ..Place::default() };
        assert_eq!(Distance::between(&bare(0), &bare(1)), Distance::Far);
    }
}
