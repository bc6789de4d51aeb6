//! Which shape a hive's barriers have: the one that was asked for or, for `auto`, the one that measures best on this
//! machine.
//!
//! `Shared::new` asks for it once, when a hive is built. For `auto` the times come from the process's cache or a file
//! (`cached_times.rs`) or are measured now (`trial.rs`); where nothing can be measured, the shape is predicted from the
//! places. See `docs/shape.md`, "Which shape".

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::protocol::neighbours::Location;
use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::sys::cpu_mask::CpuMask;
#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::sys::kernel_file;
use crate::topology::machine_info::MachineInfo;
use crate::topology::place_assignment::Place;
use crate::topology::place_map::PlaceMap;
use crate::tuning::cache::CacheDir;
use crate::tuning::cached_times::CachedTimes;
use crate::tuning::shape_times::ShapeTimes;
use crate::tuning::trial;

/// Where nothing can be measured: the smallest number of bees for which it pays to meet in groups. The model in
/// `docs/scaling.md` predicts it, for clusters of eight.
const MIN_BEES_FOR_GROUPS: usize = 10;

/// The shape of a hive's barriers, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BarrierChoice {
    /// The chosen shape.
    pub(crate) shape: BarrierShape,
    /// Why it was chosen, for the report.
    reason: ChoiceReason,
    /// A problem with the cache of measured times that the user should know of.
    pub(crate) warning: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ChoiceReason {
    /// The program or the environment has named the shape.
    Requested,
    /// All bees are in one group, whatever the shape.
    SingleGroup,
    /// Nothing could be measured, for the reason that the text gives. The shape is predicted.
    Predicted(&'static str),
    /// The shape with the best of these times, which have been measured just now.
    Measured(ShapeTimes),
    /// The shape with the best of these times, which this process or an earlier one has measured.
    Cached(ShapeTimes),
}

impl BarrierChoice {
    /// Chooses the shape for a hive that starts with `bees` bees, for which the program or the environment asks for
    /// `requested`.
    pub(crate) fn for_request(
        requested: BarrierShape,
        bees: usize,
        machine_info: &MachineInfo,
        place_map: &PlaceMap,
    ) -> Self {
        match requested {
            BarrierShape::Auto => {
                Self::choose(bees, machine_info, place_map, CacheDir::from_environment, trial::measure_briefly)
            }
            shape => Self::new(shape, ChoiceReason::Requested),
        }
    }

    fn new(shape: BarrierShape, reason: ChoiceReason) -> Self {
        Self { shape, reason, warning: None }
    }

    /// Chooses the shape for `auto`. `cache` returns the directory of the cache files, and `measure` the times of some
    /// shapes for bees at these places with these locations. They are parameters for the sake of the tests; each is
    /// called only if it is needed.
    fn choose(
        bees: usize,
        machine_info: &MachineInfo,
        place_map: &PlaceMap,
        cache: impl FnOnce() -> Option<CacheDir>,
        measure: impl FnOnce(&[BarrierShape], &[&Place], &[Location]) -> Option<ShapeTimes>,
    ) -> Self {
        let addresses = place_map.addresses(bees as u32);
        // Shapes that make the same groups of these bees need no comparison.
        let shapes = distinct_shapes(&addresses, bees);
        if shapes.len() == 1 {
            return Self::new(BarrierShape::Flat, ChoiceReason::SingleGroup);
        }
        // Times would mean nothing if a bee is not bound, if the places are those of another machine (one that hwloc
        // was told to make up), or if bees have to wait for each other to leave a CPU.
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

/// The shapes that put these bees into different groups; of several shapes that make the same groups, only the first
/// one.
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

/// Whether each of the bees at these places can have a CPU to itself, so that none waits for another to leave a CPU.
fn have_own_cpus(places: &[&Place]) -> bool {
    let mut bees_on: HashMap<&[usize], usize> = HashMap::new();
    places.iter().for_each(|place| *bees_on.entry(place.cpus()).or_default() += 1);
    let all: CpuMask = places.iter().flat_map(|place| place.cpus()).copied().collect();
    all.len() >= places.len() && bees_on.iter().all(|(cpus, &bees)| bees <= cpus.len())
}

/// The shape to use without a measurement: from `MIN_BEES_FOR_GROUPS` bees on, the one with the narrowest groups, which
/// is the second in `shapes`.
fn predict_shape(shapes: &[BarrierShape], bees: usize) -> BarrierShape {
    if bees < MIN_BEES_FOR_GROUPS { BarrierShape::Flat } else { shapes[1] }
}

/// The shape with the best time. It stays flat unless another shape takes a twentieth less, because flat is as good for
/// small teams.
fn best_shape(times: &ShapeTimes) -> BarrierShape {
    let handicapped = |shape, time: Duration| if shape == BarrierShape::Flat { time * 19 / 20 } else { time };
    let best = times.iter().min_by_key(|&&(shape, time)| handicapped(shape, time));
    best.map_or(BarrierShape::Flat, |&(shape, _)| shape)
}

/// A hash that stands for the machine and the bees' places on it. Cached times belong to one such key.
fn machine_key(machine_info: &MachineInfo, places: &[&Place]) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    kernel_file::processor_name().hash(&mut hasher);
    let cpus = machine_info.machine.cpus().iter().map(|cpu| (cpu.os_index, cpu.core, cpu.cluster, cpu.node));
    cpus.collect::<Vec<_>>().hash(&mut hasher);
    places.iter().for_each(|place| place.mask().to_string().hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::topology::RawCpu;
    use crate::topology::binding_request::BindingRequest;
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

    /// The report's text for `auto`, in a hive of `bees` bees on a machine of two clusters with two CPUs each. The CPUs
    /// have numbers that no machine and no other test uses: hives of other tests would otherwise claim them.
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
        let request = BindingRequest { pin: Some(Pin::Cpus(list)), ..BindingRequest::default() };
        let settings = request.resolve(&BindingRequest::default()).unwrap();
        let machine_info = MachineInfo { machine, mask: None, quota: None, warnings: Vec::new() };
        let place_map = PlaceMap::build(&settings, bees, 1024, &machine_info).unwrap();
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
        // The bees' places are in an order that no other test uses, so this process has no times for them.
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
        // The orders are ones that no other test uses, so this process has no times for them.
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
