//! Which place each bee of a hive has, and the claim on it that keeps other hives of the process away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::pool::config::Config;
use crate::pool::error::{BuildError, BuildProblem};
use crate::protocol::neighbours::{Location, Neighbours};
use crate::sys::cpu_mask::CpuMask;
use crate::topology::binding_request::Binding;
use crate::topology::claims;
use crate::topology::claims::Claim;
use crate::topology::machine::Machine;
use crate::topology::machine_info::MachineInfo;
use crate::topology::pin_policy::Pin;
use crate::topology::place_assignment::{Place, PlaceAssignment, PlaceError, default_pin};
use crate::topology::place_policy::PlacePolicy;

/// The places of a hive's bees.
pub(crate) struct PlaceMap {
    pub(crate) binding: Binding,
    /// Whether the user said nothing of pinning.
    pub(crate) is_default: bool,
    places: PlaceAssignment,
    /// What is not as it was asked for.
    pub(crate) warning: Option<String>,
    /// CPUs that other hives leave alone.
    claim: Mutex<Claim>,
    /// Whether a bee, by its number, could not have its place. No lock: a forked child may ask for places, too.
    unplaced: Box<[AtomicBool]>,
}

impl PlaceMap {
    /// Finds places for a hive, apart from those of other hives where that is possible.
    pub(crate) fn build(config: &Config, machine_info: &MachineInfo) -> Result<Self, BuildError> {
        let bees = config.bees as usize;
        let (claim, chosen) = claims::claim(|taken| {
            let chosen = choose_places(config, machine_info, taken);
            let cpus = chosen.as_ref().map_or_else(|_| CpuMask::new(), |(_, places, _)| places.exclusive_cpus(bees));
            (cpus, chosen)
        });
        let (binding, places, warning) = chosen?;
        let is_default = config.binding.is_none();
        // A hive that is its queen alone may have a bee for tasks, too.
        let unplaced = (0..config.max_bees.max(2)).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { binding, is_default, places, warning, claim: Mutex::new(claim), unplaced })
    }

    /// The place of a bee; none: it is not bound. By default a bee is bound only where it is alone.
    pub(crate) fn place_of(&self, bee: usize) -> Option<&Place> {
        // Relaxed: nothing else is read on the strength of it.
        let is_unplaced = self.unplaced.get(bee).is_some_and(|unplaced| unplaced.load(Ordering::Relaxed));
        if is_unplaced { None } else { self.planned_place(bee) }
    }

    fn planned_place(&self, bee: usize) -> Option<&Place> {
        if self.is_default { self.places.unshared_place_of(bee) } else { self.places.place_of(bee) }
    }

    /// Who of a hive's `bees` is near to whom. Bees beyond the CPUs that there are count as unbound: they share places with earlier ones.
    pub(crate) fn neighbours(&self, bees: u32) -> Neighbours {
        let first = (0..bees as usize).map_while(|bee| self.places.unshared_place_of(bee));
        Neighbours::new(&first.map(address_of).collect::<Vec<_>>())
    }

    /// Where the first of a hive's `bees` are to be bound; those after them are bound nowhere.
    pub(crate) fn addresses(&self, bees: u32) -> Vec<Location> {
        (0..bees as usize).map_while(|bee| self.planned_place(bee)).map(address_of).collect()
    }

    /// The CPUs that bees of a hive of `bees` have for their own.
    pub(crate) fn worker_cpus(&self, bees: usize) -> CpuMask {
        let all = self.places.exclusive_cpus(bees);
        self.place_of(0).map_or_else(CpuMask::new, |queen| all.difference(&queen.mask()))
    }

    /// The place for a bee's thread to be bound to, claimed for this hive. By default none if another hive has come to have it since
    /// this one was built; what the user asked for is given in any case.
    pub(crate) fn claim_place(&self, bee: usize) -> Option<&Place> {
        let place = self.place_of(bee)?;
        if !self.places.is_exclusive() {
            return Some(place);
        }
        let wanted = place.mask();
        let claimed = self.claim.lock().unwrap_or_else(PoisonError::into_inner).extend(&wanted);
        if self.is_default && claimed != wanted {
            self.release_place(bee);
            return None;
        }
        Some(place)
    }

    /// Notes that a bee is not bound to the place that was meant for it.
    pub(crate) fn release_place(&self, bee: usize) {
        // Relaxed: as above.
        self.unplaced[bee].store(true, Ordering::Relaxed);
    }
}

/// Where a bee at `place` is.
pub(crate) fn address_of(place: &Place) -> Location {
    [place.core(), place.cluster(), place.node()]
}

fn choose_places(
    config: &Config,
    machine_info: &MachineInfo,
    claimed: &CpuMask,
) -> Result<(Binding, PlaceAssignment, Option<String>), BuildError> {
    let (machine, bees) = (&machine_info.machine, config.bees as usize);
    let default_binding = || Binding::Pin(default_pin(machine, claimed, bees));
    let binding = config.binding.clone().unwrap_or_else(default_binding);
    resolve_places(machine, binding, config, claimed)
        .map_err(|error| BuildError(BuildProblem::Binding(error.to_string())))
}

fn resolve_places(
    machine: &Machine,
    binding: Binding,
    config: &Config,
    claimed: &CpuMask,
) -> Result<(Binding, PlaceAssignment, Option<String>), PlaceError> {
    let (binding, warning) = match binding {
        Binding::Pin(Pin::Cpus(list)) if config.is_from_environment => {
            let (known, warning) = PlaceAssignment::allowed_listed_cpus(machine, &list)?;
            (Binding::Pin(Pin::Cpus(known)), warning)
        }
        other => (other, None),
    };
    let (places, unknown) = match &binding {
        Binding::Pin(pin) => (PlaceAssignment::new(machine, pin, config.shrink, claimed)?, None),
        Binding::Places { list, proc_bind: bind } => {
            let sharing = PlacePolicy { bind: *bind, shrink: config.shrink, bees: config.bees as usize };
            PlaceAssignment::from_list(machine, list, &sharing, claimed)?
        }
    };
    Ok((binding, places, warning.or(unknown)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::pool::config::Builder;
    use crate::pool::environment::Environment;
    use crate::topology::RawCpu;
    use crate::topology::machine::TopologySource;

    #[test]
    fn neighbours_follow_the_machine() {
        // Two nodes of two clusters of two cores of two threads; numbers that no machine here has.
        let cpu = |cpu: u64| {
            let (core, cluster, node) = (cpu / 2, cpu / 4, cpu / 8);
            RawCpu { os_index: 7_000 + cpu as usize, core, cluster, node, package: 0, slowness: 0 }
        };
        let machine = Arc::new(Machine::new((0..16).map(cpu), TopologySource::Flat, true));
        let environment = Environment::default();
        let config = Builder::new().bees(16).pin(Pin::Core).resolve(&environment, 16).unwrap();
        let machine_info = MachineInfo { machine, mask: None, quota: None, warnings: Vec::new() };
        let place_map = PlaceMap::build(&config, &machine_info).unwrap();
        let neighbours = place_map.neighbours(config.max_bees);
        for bee in 0..16 {
            let own_place = place_map.planned_place(bee as usize).unwrap();
            let shared = |other: u32| {
                let place = place_map.planned_place(other as usize).unwrap();
                [
                    place.core() == own_place.core(),
                    place.cluster() == own_place.cluster(),
                    place.node() == own_place.node(),
                ]
            };
            let found: Vec<_> = neighbours.by_distance(bee).map(|(other, _)| shared(other)).collect();
            assert_eq!(found.len(), 15);
            assert!(found.is_sorted_by(|a, b| a >= b), "bee {bee}: {found:?}");
            assert_eq!([0, 1, 2].map(|level| found.iter().filter(|shared| shared[level]).count()), [1, 3, 7]);
        }
        assert_eq!(neighbours.first_unbound(), 16);
    }
}
