//! How far two CPUs are from each other, by the nearest thing that they share.

use crate::catalog::names;
use crate::system::topology::Place;

names! {
    /// From near to far.
    Distance {
        /// Hardware threads of one core.
        Core "core";
        /// One last-level cache.
        Cluster "cluster";
        /// One NUMA node.
        Node "node";
        /// One package.
        Package "package";
        /// Nothing but the machine, or what they share is not known.
        Far "far";
    }
}

impl Distance {
    pub(crate) fn between(one: &Place, other: &Place) -> Self {
        let same = |of: fn(&Place) -> Option<usize>| of(one).is_some() && of(one) == of(other);
        let cluster = one.last_cache().is_some() && one.last_cache() == other.last_cache();
        Self::of_shared([one.core == other.core, cluster, same(|place| place.node), same(|place| place.package)])
    }

    /// By whether two CPUs share a core, a last-level cache, a node, a package.
    pub(crate) fn of_shared(shared: [bool; 4]) -> Self {
        shared.iter().position(|shared| *shared).map_or(Self::Far, |nearest| Self::ALL[nearest])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::topology::Cache;

    fn place(cpu: usize, core: &str, cache: &str, node: usize, package: usize) -> Place {
        let caches = vec![Cache { level: 3, cpus: cache.to_owned() }];
        Place { cpu, core: core.to_owned(), caches, node: Some(node), package: Some(package) }
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
