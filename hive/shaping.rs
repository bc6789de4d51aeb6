//! Which shape a hive's barriers have: the one asked for, or for `auto` the one that has measured best on this machine. See `docs/shape.md`.

mod cache;
mod remembered;
mod trial;

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::config::Config;
use crate::crew::{Address, BarrierShape, Shape};
use crate::habitat::Habitat;
use crate::housing::Housing;
use crate::topology::{CpuMask, Place};

use cache::Cache;
use remembered::Remembered;

/// Where nothing can be measured: members from which on it pays to meet in groups, as `docs/scaling.md` predicts for clusters of eight.
const PAYS_FROM: usize = 10;

/// The shape of a hive, and why it has that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shaping {
    pub(crate) shape: BarrierShape,
    reason: Reason,
    /// What is not as it should be.
    pub(crate) warning: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Asked,
    /// The members are all in one group, whatever the shape.
    Alone,
    /// Nothing could be measured, because of what the words say.
    Derived(&'static str),
    Measured(Times),
    Remembered(Times),
}

/// The least times of a region with a barrier in it that were measured.
pub(crate) type Times = Vec<(BarrierShape, Duration)>;

impl Shaping {
    /// For a hive that begins with `config`.
    pub(crate) fn of(config: &Config, habitat: &Habitat, housing: &Housing) -> Self {
        match config.barrier {
            BarrierShape::Auto => Self::choose(config.bees as usize, habitat, housing, Cache::of_environment, trial::times_soon),
            shape => Self::new(shape, Reason::Asked),
        }
    }

    fn new(shape: BarrierShape, reason: Reason) -> Self {
        Self { shape, reason, warning: None }
    }

    /// `cache` says where files are to be, and `measure` gives the times of some shapes, for members at these places with these addresses; neither is asked without need.
    fn choose(
        members: usize,
        habitat: &Habitat,
        housing: &Housing,
        cache: impl FnOnce() -> Option<Cache>,
        measure: impl FnOnce(&[BarrierShape], &[&Place], &[Address]) -> Option<Times>,
    ) -> Self {
        let addresses = housing.addresses(members as u32);
        let shapes = differing(&addresses, members);
        if shapes.len() == 1 {
            return Self::new(BarrierShape::Flat, Reason::Alone);
        }
        let derived = |why| Self::new(derive(&shapes, members), Reason::Derived(why));
        let places: Option<Vec<&Place>> = (0..members).map(|member| housing.of(member)).collect();
        let Some(places) = places else { return derived("not all members are bound") };
        if places.iter().any(|place| place.is_foreign()) {
            return derived("the machine is another one");
        }
        if habitat.usable_cpus() < members {
            return derived("there are fewer CPUs than members");
        }
        if !have_a_cpu_each(&places) {
            return derived("some members share a CPU");
        }
        let mut remembered = Remembered::of(key(habitat, &places), cache());
        let chosen = if let Some(times) = remembered.times(&shapes) {
            Self::new(best(&times), Reason::Remembered(times))
        } else if let Some(times) = measure(&shapes, &places, &addresses) {
            remembered.keep(&times);
            Self::new(best(&times), Reason::Measured(times))
        } else {
            derived("the CPUs were too busy to measure on")
        };
        Self { warning: remembered.problem, ..chosen }
    }
}

impl fmt::Display for Shaping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)?;
        let times = |times: &Times| {
            let each: Vec<_> = times.iter().map(|(shape, time)| format!("{shape} {time:?}")).collect();
            each.join(", ")
        };
        match &self.reason {
            Reason::Asked => Ok(()),
            Reason::Alone => f.write_str(" (auto: the members share a last-level cache, or nobody knows)"),
            Reason::Derived(why) => write!(f, " (auto: from the places, as {why})"),
            Reason::Measured(measured) => write!(f, " (auto: measured for a region with a barrier: {})", times(measured)),
            Reason::Remembered(measured) => write!(f, " (auto: measured earlier: {})", times(measured)),
        }
    }
}

/// Shapes that put these members in different groups.
fn differing(addresses: &[Address], members: usize) -> Vec<BarrierShape> {
    let mut found: Vec<(BarrierShape, Shape)> = Vec::new();
    for shape in [BarrierShape::Flat, BarrierShape::Cluster, BarrierShape::Node] {
        let groups = Shape::new(shape, addresses, members as u32);
        if found.iter().all(|(_, others)| *others != groups) {
            found.push((shape, groups));
        }
    }
    found.into_iter().map(|(shape, _)| shape).collect()
}

/// Whether members at these places need not wait for each other to leave a CPU.
fn have_a_cpu_each(places: &[&Place]) -> bool {
    let mut members_on: HashMap<&[usize], usize> = HashMap::new();
    places.iter().for_each(|place| *members_on.entry(place.cpus()).or_default() += 1);
    let all: CpuMask = places.iter().flat_map(|place| place.cpus()).copied().collect();
    all.len() >= places.len() && members_on.iter().all(|(cpus, &members)| members <= cpus.len())
}

/// Without a measurement. The narrowest groups come second.
fn derive(shapes: &[BarrierShape], members: usize) -> BarrierShape {
    if members < PAYS_FROM { BarrierShape::Flat } else { shapes[1] }
}

/// Flat, if no other is clearly better: it is as good for small teams.
fn best(times: &Times) -> BarrierShape {
    let clearly = |shape, time: Duration| if shape == BarrierShape::Flat { time * 19 / 20 } else { time };
    let best = times.iter().min_by_key(|&&(shape, time)| clearly(shape, time));
    best.map_or(BarrierShape::Flat, |&(shape, _)| shape)
}

/// A number for the machine and the places on it.
fn key(habitat: &Habitat, places: &[&Place]) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    processor().hash(&mut hasher);
    let cpus = habitat.machine.cpus().iter().map(|cpu| (cpu.os_index, cpu.core, cpu.cluster, cpu.node));
    cpus.collect::<Vec<_>>().hash(&mut hasher);
    places.iter().for_each(|place| place.mask().to_string().hash(&mut hasher));
    hasher.finish()
}

/// What the system calls the processor; nothing, where it is not Linux on x86 or alike.
fn processor() -> Option<String> {
    let all = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    all.lines().find(|line| line.starts_with("model name")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::config::Builder;
    use crate::environment::Environment;
    use crate::topology::{Machine, Pin, RawCpu, Source};

    fn on(units: impl Iterator<Item = [usize; 2]>) -> Vec<Address> {
        units.map(|[cluster, node]| [None, Some(cluster), Some(node)]).collect()
    }

    #[test]
    fn only_shapes_that_differ_are_tried() {
        use BarrierShape::{Cluster, Flat, Node};
        let clusters = on((0..16).map(|member| [member / 4, member / 8]));
        assert_eq!(differing(&clusters, 16), [Flat, Cluster, Node]);
        assert_eq!(differing(&clusters[..8], 8), [Flat, Cluster], "on one node");
        assert_eq!(differing(&clusters[..4], 4), [Flat], "in one cluster");
        assert_eq!(differing(&[], 40), [Flat, Cluster], "bound nowhere, too many for one group");
        let nodes = on((0..16).map(|member| [member / 8, member / 8]));
        assert_eq!(differing(&nodes, 16), [Flat, Cluster], "clusters are nodes");
    }

    /// What becomes of `auto` in a hive of so many members on a machine of two clusters of two CPUs, with numbers that none here has, nor any
    /// other test, whose hives would leave these CPUs alone.
    fn shaping(members: usize, list: &[usize], cache: Option<Cache>, measured: Option<Times>) -> String {
        shaped(members, list, cache, measured).to_string()
    }

    fn shaped(members: usize, list: &[usize], cache: Option<Cache>, measured: Option<Times>) -> Shaping {
        let cpu =
            |k: usize| RawCpu { os_index: 8_000 + k, core: k as u64, cluster: k as u64 / 2, node: 0, package: 0, slowness: 0 };
        let machine = Arc::new(Machine::new((0..4).map(cpu), Source::Flat, false));
        let list = list.iter().map(|k| 8_000 + k).collect();
        let builder = Builder::new().bees(members).pin(Pin::Cpus(list));
        let config = builder.resolve(&Environment::default(), 4).unwrap();
        let habitat = Habitat { machine, mask: None, quota: None, warnings: Vec::new() };
        let housing = Housing::find(&config, &habitat).unwrap();
        Shaping::choose(members, &habitat, &housing, || cache, |_, _, _| measured)
    }

    #[test]
    fn nothing_is_measured_where_members_share_a_cpu() {
        let shaping = |members, list| shaping(members, list, None, None);
        assert_eq!(shaping(4, &[0, 2]), "flat (auto: from the places, as some members share a CPU)");
        assert_eq!(shaping(4, &[0]), "flat (auto: the members share a last-level cache, or nobody knows)", "all of them on one");
        assert_eq!(shaping(3, &[0, 1]), "flat (auto: the members share a last-level cache, or nobody knows)");
        // In an order that no other test remembers the times of.
        assert_eq!(shaping(4, &[3, 2, 1, 0]), "flat (auto: from the places, as the CPUs were too busy to measure on)");
    }

    #[test]
    fn what_has_been_measured_is_not_measured_again() {
        let directory = tempfile::tempdir().unwrap();
        let shaping = |list: &[usize], measured| shaping(list.len(), list, Some(Cache::at(directory.path())), measured);
        let times = |flat, cluster| {
            Some(vec![(BarrierShape::Flat, Duration::from_nanos(flat)), (BarrierShape::Cluster, Duration::from_nanos(cluster))])
        };
        let all = "auto: measured for a region with a barrier: flat 900ns, cluster 700ns";
        assert_eq!(shaping(&[0, 1, 2, 3], times(900, 700)), format!("cluster ({all})"));
        assert_eq!(shaping(&[0, 1, 2, 3], times(1, 2)), "cluster (auto: measured earlier: flat 900ns, cluster 700ns)");
        assert_eq!(
            shaping(&[0, 2, 1, 3], times(1, 2)),
            "flat (auto: measured for a region with a barrier: flat 1ns, cluster 2ns)"
        );
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "a file each");
    }

    #[test]
    fn why_a_file_is_not_used_is_a_warning() {
        let directory = tempfile::tempdir().unwrap();
        let shaping = |list: &[usize]| {
            let times = vec![(BarrierShape::Flat, Duration::from_nanos(1)), (BarrierShape::Cluster, Duration::from_nanos(2))];
            shaped(list.len(), list, Some(Cache::at(directory.path().join("file"))), Some(times)).warning
        };
        // In orders that no other test remembers the times of.
        assert_eq!(shaping(&[1, 0, 2, 3]), None);
        fs::remove_dir_all(directory.path().join("file")).unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let warning = shaping(&[1, 0, 3, 2]).unwrap_or_default();
        assert!(warning.contains("the cache of measured shapes") && warning.contains("is no directory"), "{warning}");
    }

    #[test]
    fn flat_stays_unless_another_is_clearly_better() {
        let times = |cluster| {
            vec![(BarrierShape::Flat, Duration::from_nanos(1_000)), (BarrierShape::Cluster, Duration::from_nanos(cluster))]
        };
        assert_eq!(best(&times(960)), BarrierShape::Flat);
        assert_eq!(best(&times(940)), BarrierShape::Cluster);
    }

    #[test]
    fn what_cannot_be_measured_is_derived() {
        let shapes = [BarrierShape::Flat, BarrierShape::Cluster, BarrierShape::Node];
        assert_eq!(derive(&shapes, PAYS_FROM - 1), BarrierShape::Flat);
        assert_eq!(derive(&shapes, PAYS_FROM), BarrierShape::Cluster);
    }
}
