//! Which shape a hive's barriers have: the one asked for, or for `auto` the one that has measured best on this machine. See `docs/shape.md`.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::pool::config::Config;
use crate::protocol::neighbours::Location;
use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine_info::MachineInfo;
use crate::topology::place_assignment::Place;
use crate::topology::place_map::PlaceMap;
use crate::tuning::cache::CacheDir;
use crate::tuning::cached_times::CachedTimes;
use crate::tuning::trial;

/// Where nothing can be measured: bees from which on it pays to meet in groups, as `docs/scaling.md` predicts for clusters of eight.
const MIN_BEES_FOR_GROUPS: usize = 10;

/// The shape of a hive, and why it has that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BarrierChoice {
    pub(crate) shape: BarrierShape,
    reason: ChoiceReason,
    /// What is not as it should be.
    pub(crate) warning: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ChoiceReason {
    Requested,
    /// The bees are all in one group, whatever the shape.
    SingleGroup,
    /// Nothing could be measured, because of what the words say.
    Predicted(&'static str),
    Measured(ShapeTimes),
    Cached(ShapeTimes),
}

/// The least times of a region with a barrier in it that were measured.
pub(crate) type ShapeTimes = Vec<(BarrierShape, Duration)>;

impl BarrierChoice {
    /// For a hive that begins with `config`.
    pub(crate) fn for_config(config: &Config, machine_info: &MachineInfo, place_map: &PlaceMap) -> Self {
        match config.barrier_shape {
            BarrierShape::Auto => Self::choose(
                config.bees as usize,
                machine_info,
                place_map,
                CacheDir::from_environment,
                trial::measure_briefly,
            ),
            shape => Self::new(shape, ChoiceReason::Requested),
        }
    }

    fn new(shape: BarrierShape, reason: ChoiceReason) -> Self {
        Self { shape, reason, warning: None }
    }

    /// `cache` says where files are to be, and `measure` gives the times of some shapes, for bees at these places with these addresses; neither is asked without need.
    fn choose(
        bees: usize,
        machine_info: &MachineInfo,
        place_map: &PlaceMap,
        cache: impl FnOnce() -> Option<CacheDir>,
        measure: impl FnOnce(&[BarrierShape], &[&Place], &[Location]) -> Option<ShapeTimes>,
    ) -> Self {
        let addresses = place_map.addresses(bees as u32);
        let shapes = distinct_shapes(&addresses, bees);
        if shapes.len() == 1 {
            return Self::new(BarrierShape::Flat, ChoiceReason::SingleGroup);
        }
        let predicted = |why| Self::new(predict_shape(&shapes, bees), ChoiceReason::Predicted(why));
        let places: Option<Vec<&Place>> = (0..bees).map(|bee| place_map.place_of(bee)).collect();
        let Some(places) = places else { return predicted("not all bees are bound") };
        if places.iter().any(|place| place.is_foreign()) {
            return predicted("the machine is another one");
        }
        if machine_info.usable_cpus() < bees {
            return predicted("there are fewer CPUs than bees");
        }
        if !have_own_cpus(&places) {
            return predicted("some bees share a CPU");
        }
        let mut cached = CachedTimes::for_key(machine_key(machine_info, &places), cache());
        let chosen = if let Some(times) = cached.times(&shapes) {
            Self::new(best_shape(&times), ChoiceReason::Cached(times))
        } else if let Some(times) = measure(&shapes, &places, &addresses) {
            cached.store(&times);
            Self::new(best_shape(&times), ChoiceReason::Measured(times))
        } else {
            predicted("the CPUs were too busy to measure on")
        };
        Self { warning: cached.problem, ..chosen }
    }
}

impl fmt::Display for BarrierChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)?;
        let times = |times: &ShapeTimes| {
            let each: Vec<_> = times.iter().map(|(shape, time)| format!("{shape} {time:?}")).collect();
            each.join(", ")
        };
        match &self.reason {
            ChoiceReason::Requested => Ok(()),
            ChoiceReason::SingleGroup => {
                f.write_str(" (auto: the bees share a last-level cache, or their caches are not known)")
            }
            ChoiceReason::Predicted(why) => write!(f, " (auto: from the places, as {why})"),
            ChoiceReason::Measured(measured) => {
                write!(f, " (auto: measured for a region with a barrier: {})", times(measured))
            }
            ChoiceReason::Cached(measured) => write!(f, " (auto: measured earlier: {})", times(measured)),
        }
    }
}

/// Shapes that put these bees in different groups.
fn distinct_shapes(addresses: &[Location], bees: usize) -> Vec<BarrierShape> {
    let mut found: Vec<(BarrierShape, Shape)> = Vec::new();
    for shape in [BarrierShape::Flat, BarrierShape::Cluster, BarrierShape::Node] {
        let groups = Shape::new(shape, addresses, bees as u32);
        if found.iter().all(|(_, other_groups)| *other_groups != groups) {
            found.push((shape, groups));
        }
    }
    found.into_iter().map(|(shape, _)| shape).collect()
}

/// Whether bees at these places need not wait for each other to leave a CPU.
fn have_own_cpus(places: &[&Place]) -> bool {
    let mut bees_on: HashMap<&[usize], usize> = HashMap::new();
    places.iter().for_each(|place| *bees_on.entry(place.cpus()).or_default() += 1);
    let all: CpuMask = places.iter().flat_map(|place| place.cpus()).copied().collect();
    all.len() >= places.len() && bees_on.iter().all(|(cpus, &bees)| bees <= cpus.len())
}

/// Without a measurement. The narrowest groups come second.
fn predict_shape(shapes: &[BarrierShape], bees: usize) -> BarrierShape {
    if bees < MIN_BEES_FOR_GROUPS { BarrierShape::Flat } else { shapes[1] }
}

/// Flat, if no other is clearly better: it is as good for small teams.
fn best_shape(times: &ShapeTimes) -> BarrierShape {
    let handicapped = |shape, time: Duration| if shape == BarrierShape::Flat { time * 19 / 20 } else { time };
    let best = times.iter().min_by_key(|&&(shape, time)| handicapped(shape, time));
    best.map_or(BarrierShape::Flat, |&(shape, _)| shape)
}

/// A number for the machine and the places on it.
fn machine_key(machine_info: &MachineInfo, places: &[&Place]) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    processor_name().hash(&mut hasher);
    let cpus = machine_info.machine.cpus().iter().map(|cpu| (cpu.os_index, cpu.core, cpu.cluster, cpu.node));
    cpus.collect::<Vec<_>>().hash(&mut hasher);
    places.iter().for_each(|place| place.mask().to_string().hash(&mut hasher));
    hasher.finish()
}

/// What the system calls the processor; nothing, where it is not Linux on x86 or alike.
fn processor_name() -> Option<String> {
    let all = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    all.lines().find(|line| line.starts_with("model name")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::pool::config::Builder;
    use crate::pool::environment::Environment;
    use crate::topology::RawCpu;
    use crate::topology::machine::{Machine, TopologySource};
    use crate::topology::pin_policy::Pin;

    fn addresses_on(units: impl Iterator<Item = [usize; 2]>) -> Vec<Location> {
        units.map(|[cluster, node]| [None, Some(cluster), Some(node)]).collect()
    }

    #[test]
    fn only_shapes_that_differ_are_tried() {
        use BarrierShape::{Cluster, Flat, Node};
        let clusters = addresses_on((0..16).map(|bee| [bee / 4, bee / 8]));
        assert_eq!(distinct_shapes(&clusters, 16), [Flat, Cluster, Node]);
        assert_eq!(distinct_shapes(&clusters[..8], 8), [Flat, Cluster], "on one node");
        assert_eq!(distinct_shapes(&clusters[..4], 4), [Flat], "in one cluster");
        assert_eq!(distinct_shapes(&[], 40), [Flat, Cluster], "bound nowhere, too many for one group");
        let nodes = addresses_on((0..16).map(|bee| [bee / 8, bee / 8]));
        assert_eq!(distinct_shapes(&nodes, 16), [Flat, Cluster], "clusters are nodes");
    }

    /// What becomes of `auto` in a hive of so many bees on a machine of two clusters of two CPUs, with numbers that none here has, nor any
    /// other test, whose hives would leave these CPUs alone.
    fn choice_text(bees: usize, list: &[usize], cache: Option<CacheDir>, measured: Option<ShapeTimes>) -> String {
        choice_for(bees, list, cache, measured).to_string()
    }

    fn choice_for(bees: usize, list: &[usize], cache: Option<CacheDir>, measured: Option<ShapeTimes>) -> BarrierChoice {
        let cpu = |k: usize| RawCpu {
            os_index: 8_000 + k,
            core: k as u64,
            cluster: k as u64 / 2,
            node: 0,
            package: 0,
            slowness: 0,
        };
        let machine = Arc::new(Machine::new((0..4).map(cpu), TopologySource::Flat, false));
        let list = list.iter().map(|k| 8_000 + k).collect();
        let builder = Builder::new().bees(bees).pin(Pin::Cpus(list));
        let config = builder.resolve(&Environment::default(), 4).unwrap();
        let machine_info = MachineInfo { machine, mask: None, quota: None, warnings: Vec::new() };
        let place_map = PlaceMap::build(&config, &machine_info).unwrap();
        BarrierChoice::choose(bees, &machine_info, &place_map, || cache, |_, _, _| measured)
    }

    #[test]
    fn nothing_is_measured_where_bees_share_a_cpu() {
        let choice_text = |bees, list| choice_text(bees, list, None, None);
        assert_eq!(choice_text(4, &[0, 2]), "flat (auto: from the places, as some bees share a CPU)");
        assert_eq!(
            choice_text(4, &[0]),
            "flat (auto: the bees share a last-level cache, or their caches are not known)",
            "all of them on one"
        );
        assert_eq!(
            choice_text(3, &[0, 1]),
            "flat (auto: the bees share a last-level cache, or their caches are not known)"
        );
        // In an order that no other test remembers the times of.
        assert_eq!(
            choice_text(4, &[3, 2, 1, 0]),
            "flat (auto: from the places, as the CPUs were too busy to measure on)"
        );
    }

    #[test]
    fn what_has_been_measured_is_not_measured_again() {
        let directory = tempfile::tempdir().unwrap();
        let choice_text =
            |list: &[usize], measured| choice_text(list.len(), list, Some(CacheDir::at(directory.path())), measured);
        let times = |flat, cluster| {
            Some(vec![
                (BarrierShape::Flat, Duration::from_nanos(flat)),
                (BarrierShape::Cluster, Duration::from_nanos(cluster)),
            ])
        };
        let all = "auto: measured for a region with a barrier: flat 900ns, cluster 700ns";
        assert_eq!(choice_text(&[0, 1, 2, 3], times(900, 700)), format!("cluster ({all})"));
        assert_eq!(
            choice_text(&[0, 1, 2, 3], times(1, 2)),
            "cluster (auto: measured earlier: flat 900ns, cluster 700ns)"
        );
        assert_eq!(
            choice_text(&[0, 2, 1, 3], times(1, 2)),
            "flat (auto: measured for a region with a barrier: flat 1ns, cluster 2ns)"
        );
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "a file each");
    }

    #[test]
    fn why_a_file_is_not_used_is_a_warning() {
        let directory = tempfile::tempdir().unwrap();
        let warning_for = |list: &[usize]| {
            let times =
                vec![(BarrierShape::Flat, Duration::from_nanos(1)), (BarrierShape::Cluster, Duration::from_nanos(2))];
            choice_for(list.len(), list, Some(CacheDir::at(directory.path().join("file"))), Some(times)).warning
        };
        // In orders that no other test remembers the times of.
        assert_eq!(warning_for(&[1, 0, 2, 3]), None);
        fs::remove_dir_all(directory.path().join("file")).unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let warning = warning_for(&[1, 0, 3, 2]).unwrap_or_default();
        assert!(warning.contains("the cache of measured shapes") && warning.contains("is no directory"), "{warning}");
    }

    #[test]
    fn flat_stays_unless_another_is_clearly_better() {
        let times = |cluster| {
            vec![
                (BarrierShape::Flat, Duration::from_nanos(1_000)),
                (BarrierShape::Cluster, Duration::from_nanos(cluster)),
            ]
        };
        assert_eq!(best_shape(&times(960)), BarrierShape::Flat);
        assert_eq!(best_shape(&times(940)), BarrierShape::Cluster);
    }

    #[test]
    fn what_cannot_be_measured_is_derived() {
        let shapes = [BarrierShape::Flat, BarrierShape::Cluster, BarrierShape::Node];
        assert_eq!(predict_shape(&shapes, MIN_BEES_FOR_GROUPS - 1), BarrierShape::Flat);
        assert_eq!(predict_shape(&shapes, MIN_BEES_FOR_GROUPS), BarrierShape::Cluster);
    }
}
