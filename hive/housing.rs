//! Which place each member of a hive has, and the claim on it that keeps other hives of the process away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::config::Config;
use crate::crew::{Address, Neighbours};
use crate::error::{BuildError, BuildProblem};
use crate::habitat::Habitat;
use crate::topology::{self, Binding, Claim, CpuMask, Machine, Pin, Place, PlaceError, Places, Sharing, default_pin};

/// The places of a hive's members.
pub(crate) struct Housing {
    pub(crate) binding: Binding,
    /// Whether the user said nothing of pinning.
    pub(crate) by_default: bool,
    places: Places,
    /// What is not as it was asked for.
    pub(crate) warning: Option<String>,
    /// CPUs that other hives leave alone.
    claim: Mutex<Claim>,
    /// Whether a member, by its number, could not have its place. No lock: a forked child may ask for places, too.
    homeless: Box<[AtomicBool]>,
}

impl Housing {
    /// Finds places for a hive, apart from those of other hives where that is possible.
    pub(crate) fn find(config: &Config, habitat: &Habitat) -> Result<Self, BuildError> {
        let bees = config.bees as usize;
        let (claim, found) = topology::claim(|taken| {
            let found = choose(config, habitat, taken);
            let cpus = found.as_ref().map_or_else(|_| CpuMask::new(), |(_, places, _)| places.claims(bees));
            (cpus, found)
        });
        let (binding, places, warning) = found?;
        let by_default = config.binding.is_none();
        // A hive that is its queen alone may have a bee for tasks, too.
        let homeless = (0..config.max_bees.max(2)).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { binding, by_default, places, warning, claim: Mutex::new(claim), homeless })
    }

    /// The place of a member; none: it is not bound. By default a member is bound only where it is alone.
    pub(crate) fn of(&self, member: usize) -> Option<&Place> {
        // Relaxed: nothing else is read on the strength of it.
        let is_homeless = self.homeless.get(member).is_some_and(|homeless| homeless.load(Ordering::Relaxed));
        if is_homeless { None } else { self.planned(member) }
    }

    fn planned(&self, member: usize) -> Option<&Place> {
        if self.by_default { self.places.first_of(member) } else { self.places.of(member) }
    }

    /// Who of a hive's `members` is near to whom. Members beyond the CPUs that there are count as strangers: they share places with earlier ones.
    pub(crate) fn neighbours(&self, members: u32) -> Neighbours {
        let first = (0..members as usize).map_while(|member| self.places.first_of(member));
        Neighbours::new(&first.map(address).collect::<Vec<_>>())
    }

    /// Where the first of a hive's `members` are to be bound; those after them are bound nowhere.
    pub(crate) fn addresses(&self, members: u32) -> Vec<Address> {
        (0..members as usize).map_while(|member| self.planned(member)).map(address).collect()
    }

    /// The CPUs that bees of a hive of `members` have for their own.
    pub(crate) fn bees_cpus(&self, members: usize) -> CpuMask {
        let all = self.places.claims(members);
        self.of(0).map_or_else(CpuMask::new, |queen| all.difference(&queen.mask()))
    }

    /// The place for a member's thread to be bound to, claimed for this hive. By default none if another hive has come to have it since
    /// this one was built; what the user asked for is given in any case.
    pub(crate) fn move_in(&self, member: usize) -> Option<&Place> {
        let place = self.of(member)?;
        if !self.places.are_exclusive() {
            return Some(place);
        }
        let wanted = place.mask();
        let got = self.claim.lock().unwrap_or_else(PoisonError::into_inner).extend(&wanted);
        if self.by_default && got != wanted {
            self.move_out(member);
            return None;
        }
        Some(place)
    }

    /// Notes that a member is not bound to the place that was meant for it.
    pub(crate) fn move_out(&self, member: usize) {
        // Relaxed: as above.
        self.homeless[member].store(true, Ordering::Relaxed);
    }
}

/// Where a member at `place` is.
pub(crate) fn address(place: &Place) -> Address {
    [place.core(), place.cluster(), place.node()]
}

fn choose(config: &Config, habitat: &Habitat, taken: &CpuMask) -> Result<(Binding, Places, Option<String>), BuildError> {
    let (machine, members) = (&habitat.machine, config.bees as usize);
    let by_default = || Binding::Pin(default_pin(machine, taken, members));
    let binding = config.binding.clone().unwrap_or_else(by_default);
    place(machine, binding, config, taken).map_err(|error| BuildError(BuildProblem::Pin(error.to_string())))
}

fn place(
    machine: &Machine,
    binding: Binding,
    config: &Config,
    taken: &CpuMask,
) -> Result<(Binding, Places, Option<String>), PlaceError> {
    let (binding, warning) = match binding {
        Binding::Pin(Pin::Cpus(list)) if config.is_environment_s => {
            let (known, warning) = Places::known_cpus(machine, &list)?;
            (Binding::Pin(Pin::Cpus(known)), warning)
        }
        other => (other, None),
    };
    let (places, unknown) = match &binding {
        Binding::Pin(pin) => (Places::new(machine, pin, config.shrink, taken)?, None),
        Binding::Places { list, bind } => {
            let sharing = Sharing { bind: *bind, shrink: config.shrink, members: config.bees as usize };
            Places::of_list(machine, list, &sharing, taken)?
        }
    };
    Ok((binding, places, warning.or(unknown)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::Builder;
    use crate::environment::Environment;
    use crate::topology::{RawCpu, Source};

    #[test]
    fn neighbours_follow_the_machine() {
        // Two nodes of two clusters of two cores of two threads; numbers that no machine here has.
        let cpu = |cpu: u64| {
            let (core, cluster, node) = (cpu / 2, cpu / 4, cpu / 8);
            RawCpu { os_index: 7_000 + cpu as usize, core, cluster, node, package: 0, slowness: 0 }
        };
        let machine = Arc::new(Machine::new((0..16).map(cpu), Source::Flat, true));
        let environment = Environment::default();
        let config = Builder::new().bees(16).pin(Pin::Core).resolve(&environment, 16).unwrap();
        let habitat = Habitat { machine, mask: None, quota: None, warnings: Vec::new() };
        let housing = Housing::find(&config, &habitat).unwrap();
        let neighbours = housing.neighbours(config.max_bees);
        for member in 0..16 {
            let own = housing.planned(member as usize).unwrap();
            let shared = |other: u32| {
                let place = housing.planned(other as usize).unwrap();
                [place.core() == own.core(), place.cluster() == own.cluster(), place.node() == own.node()]
            };
            let found: Vec<_> = neighbours.of(member).map(|(other, _)| shared(other)).collect();
            assert_eq!(found.len(), 15);
            assert!(found.is_sorted_by(|a, b| a >= b), "member {member}: {found:?}");
            assert_eq!([0, 1, 2].map(|level| found.iter().filter(|shared| shared[level]).count()), [1, 3, 7]);
        }
        assert_eq!(neighbours.first_stranger(), 16);
    }
}
