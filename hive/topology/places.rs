//! Which CPUs each member of a hive is for. Pure: nothing is asked of the system, no thread is touched.

use std::fmt;

use super::machine::{Cpu, Machine, Unit};
use super::mask::CpuMask;
use super::order::{Shrink, by_turn};
use super::policy::Pin;
use super::proc_bind::Turns;

/// The CPUs that one member of a hive is pinned to.
///
/// Its numbers of core, cluster, node and package count from 0 the units that the process may use; they are there where all of
/// the place's CPUs are in the same unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    cpus: Vec<usize>,
    core: Option<usize>,
    cluster: Option<usize>,
    node: Option<usize>,
    package: Option<usize>,
    /// The unit that the place is, if it was not chosen CPU by CPU.
    unit: Option<(Unit, usize)>,
    /// On another machine than this one: see [`Machine::is_foreign`].
    foreign: bool,
}

impl Place {
    pub(super) fn new(machine: &Machine, cpus: &[&Cpu], unit: Option<(Unit, usize)>) -> Self {
        let common = |unit| common_number(cpus, unit);
        Self {
            cpus: cpus.iter().map(|cpu| cpu.os_index).collect(),
            core: common(Unit::Core),
            cluster: common(Unit::Cluster),
            node: common(Unit::Node),
            package: common(Unit::Package),
            unit,
            foreign: machine.is_foreign(),
        }
    }

    /// The operating system's numbers of the CPUs.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// The physical core.
    pub fn core(&self) -> Option<usize> {
        self.core
    }

    /// The group of CPUs that share a last-level cache.
    pub fn cluster(&self) -> Option<usize> {
        self.cluster
    }

    /// The NUMA node.
    pub fn node(&self) -> Option<usize> {
        self.node
    }

    /// The package (socket).
    pub fn package(&self) -> Option<usize> {
        self.package
    }

    pub(crate) fn mask(&self) -> CpuMask {
        self.cpus.iter().copied().collect()
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }
}

fn common_number(cpus: &[&Cpu], unit: Unit) -> Option<usize> {
    let number = cpus.first()?.number(unit);
    cpus.iter().all(|cpu| cpu.number(unit) == number).then_some(number)
}

/// Short: "cpu 3", "cpus 0-7 (node 0)".
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu{} {}", if self.cpus.len() == 1 { "" } else { "s" }, self.mask())?;
        match self.unit {
            Some((unit, number)) => write!(f, " ({} {number})", unit.name()),
            None => Ok(()),
        }
    }
}

/// The places of all members that a hive may ever have.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(super) places: Vec<Place>,
    /// Which of them each member has.
    pub(super) turns: Turns,
    /// Whether members have their places for themselves, as far as there are places: each is a core, or a part of one.
    pub(super) exclusive: bool,
}

impl Places {
    /// The places of a hive's members. CPUs that are `taken` by other hives of the process are left out where each member gets
    /// one of its own; a unit is never taken as a whole, and a list is the user's own word.
    pub(crate) fn new(machine: &Machine, pin: &Pin, shrink: Shrink, taken: &CpuMask) -> Result<Self, PlaceError> {
        match pin {
            Pin::None => Ok(Self { places: Vec::new(), turns: Turns::same(Vec::new()), exclusive: false }),
            Pin::Core => Self::cores(machine, shrink, taken),
            Pin::Cluster => Ok(Self::units(machine, Unit::Cluster, shrink)),
            Pin::Node => Ok(Self::units(machine, Unit::Node, shrink)),
            Pin::Package => Ok(Self::units(machine, Unit::Package, shrink)),
            Pin::Cpus(list) => Self::listed(machine, list),
        }
    }

    /// The place of a member; none: it runs anywhere.
    pub(crate) fn of(&self, member: usize) -> Option<&Place> {
        self.turns.of(member).map(|place| &self.places[place])
    }

    /// The place of a member, unless an earlier member has had the same turn: nobody starts again at the first place.
    pub(crate) fn first_of(&self, member: usize) -> Option<&Place> {
        self.turns.first.get(member).map(|&place| &self.places[place])
    }

    /// Whether members have their places for themselves, as far as there are places, so that other hives should leave them alone.
    pub(crate) fn are_exclusive(&self) -> bool {
        self.exclusive
    }

    /// The CPUs that the first so many members have for their own, and that other hives should leave alone.
    pub(crate) fn claims(&self, members: usize) -> CpuMask {
        let turns = members.min(self.turns.first.len());
        let places = self.turns.first[..turns].iter().map(|&place| &self.places[place]);
        places.filter(|_| self.exclusive).flat_map(Place::cpus).copied().collect()
    }

    fn cores(machine: &Machine, shrink: Shrink, taken: &CpuMask) -> Result<Self, PlaceError> {
        let cpus = by_turn(machine, taken, shrink);
        if cpus.is_empty() {
            return Err(PlaceError::AllTaken { allowed: machine.mask() });
        }
        Ok(Self::single(machine, &cpus))
    }

    /// Members go where they would go by cores, so that a hive of as many members as there are physical cores uses all units.
    fn units(machine: &Machine, unit: Unit, shrink: Shrink) -> Self {
        let place = |number| Place::new(machine, &machine.cpus_of(unit, number).collect::<Vec<_>>(), Some((unit, number)));
        let order = by_turn(machine, &CpuMask::new(), shrink).iter().map(|cpu| cpu.number(unit)).collect();
        Self { places: (0..machine.count(unit)).map(place).collect(), turns: Turns::same(order), exclusive: false }
    }

    fn listed(machine: &Machine, list: &[usize]) -> Result<Self, PlaceError> {
        if list.is_empty() {
            return Err(PlaceError::EmptyList);
        }
        let known: Vec<_> = list.iter().filter_map(|&cpu| machine.cpu(cpu)).collect();
        if known.len() == list.len() {
            return Ok(Self::single(machine, &known));
        }
        let allowed = machine.mask();
        Err(PlaceError::NotAllowed { cpus: list.iter().copied().collect::<CpuMask>().difference(&allowed), allowed })
    }

    /// The CPUs of the environment's list that the process may use, in its order, and what was left out.
    pub(crate) fn known_cpus(machine: &Machine, list: &[usize]) -> Result<(Vec<usize>, Option<String>), PlaceError> {
        let allowed = machine.mask();
        let known: Vec<_> = list.iter().copied().filter(|&cpu| allowed.contains(cpu)).collect();
        let unknown = list.iter().copied().collect::<CpuMask>().difference(&allowed);
        if known.is_empty() && !list.is_empty() {
            return Err(PlaceError::NotAllowed { cpus: unknown, allowed });
        }
        let problem = || {
            let (asked, left) = (Pin::Cpus(list.to_vec()), Pin::Cpus(known.clone()));
            format!(
                "HIVE_PIN={asked}: CPUs {unknown} are left out, as this process may use CPUs {allowed}; members are on CPUs {left} in turn"
            )
        };
        let problem = (!unknown.is_empty()).then(problem);
        Ok((known, problem))
    }

    fn single(machine: &Machine, cpus: &[&Cpu]) -> Self {
        let places: Vec<_> = cpus.iter().map(|&cpu| Place::new(machine, &[cpu], None)).collect();
        Self { turns: Turns::same((0..places.len()).collect()), places, exclusive: true }
    }
}

/// What a hive is pinned to if the user says nothing: to cores as long as every member gets a free CPU of its own, else to
/// nothing, because two members that are tied to one CPU wait for each other while others may be idle.
pub(crate) fn default_pin(machine: &Machine, taken: &CpuMask, members: usize) -> Pin {
    let free = machine.mask().difference(taken).len();
    if members <= free { Pin::Core } else { Pin::None }
}

/// Why there are no places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceError {
    /// A list without CPUs.
    EmptyList,
    /// A list with CPUs that the process may not use.
    NotAllowed { cpus: CpuMask, allowed: CpuMask },
    /// Every allowed CPU belongs to another hive.
    AllTaken { allowed: CpuMask },
    /// A list of places without a CPU that the process may use.
    NoneLeft { list: String, allowed: CpuMask },
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyList => write!(f, "the list of CPUs to pin to is empty: name some, such as \"0,2,4-7\", or do not pin"),
            Self::NotAllowed { cpus, allowed } => {
                write!(f, "CPUs {cpus} cannot be pinned to: this process may use CPUs {allowed}; name some of these")
            }
            Self::NoneLeft { list, allowed } => write!(
                f,
                "none of the places {list:?} has a CPU that this process may use: it may use CPUs {allowed}; name places with some of these"
            ),
            Self::AllTaken { allowed } => write!(
                f,
                "no core is left to pin to: other hives of this process have all of its CPUs, {allowed}; \
                 list CPUs to share them, or do not pin"
            ),
        }
    }
}

impl std::error::Error for PlaceError {}

#[cfg(test)]
mod tests;
