//! Which CPUs each bee of a hive is for. Pure: nothing is asked of the system, no thread is touched.

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Cpu, Machine, Unit};
use crate::topology::pin_policy::Pin;
use crate::topology::proc_bind::PlaceOrder;
use crate::topology::shrink::{Shrink, cpus_in_order};

/// The CPUs that one bee of a hive is pinned to.
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
    is_foreign: bool,
}

impl Place {
    pub(crate) fn new(machine: &Machine, cpus: &[&Cpu], unit: Option<(Unit, usize)>) -> Self {
        let common_unit = |unit| common_unit_number(cpus, unit);
        Self {
            cpus: cpus.iter().map(|cpu| cpu.os_index).collect(),
            core: common_unit(Unit::Core),
            cluster: common_unit(Unit::Cluster),
            node: common_unit(Unit::Node),
            package: common_unit(Unit::Package),
            unit,
            is_foreign: machine.is_foreign(),
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
        self.is_foreign
    }
}

fn common_unit_number(cpus: &[&Cpu], unit: Unit) -> Option<usize> {
    let number = cpus.first()?.unit_number(unit);
    cpus.iter().all(|cpu| cpu.unit_number(unit) == number).then_some(number)
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

/// The places of all bees that a hive may ever have.
#[derive(Clone, Debug)]
pub(crate) struct PlaceAssignment {
    pub(crate) places: Vec<Place>,
    /// Which of them each bee has.
    pub(crate) order: PlaceOrder,
    /// Whether bees have their places for themselves, as far as there are places: each is a core, or a part of one.
    pub(crate) is_exclusive: bool,
}

impl PlaceAssignment {
    /// The places of a hive's bees. CPUs that are `claimed` by other hives of the process are left out where each bee gets
    /// one of its own; a unit is never taken as a whole, and a list is the user's own word.
    pub(crate) fn new(machine: &Machine, pin: &Pin, shrink: Shrink, taken: &CpuMask) -> Result<Self, PlaceError> {
        match pin {
            Pin::None => Ok(Self { places: Vec::new(), order: PlaceOrder::repeating(Vec::new()), is_exclusive: false }),
            Pin::Core => Self::by_core(machine, shrink, taken),
            Pin::Cluster => Ok(Self::by_unit(machine, Unit::Cluster, shrink)),
            Pin::Node => Ok(Self::by_unit(machine, Unit::Node, shrink)),
            Pin::Package => Ok(Self::by_unit(machine, Unit::Package, shrink)),
            Pin::Cpus(list) => Self::by_cpu_list(machine, list),
        }
    }

    /// The place of a bee; none: it runs anywhere.
    pub(crate) fn place_of(&self, bee: usize) -> Option<&Place> {
        self.order.place_of(bee).map(|place| &self.places[place])
    }

    /// The place of a bee, unless an earlier bee has had the same turn: nobody starts again at the first place.
    pub(crate) fn unshared_place_of(&self, bee: usize) -> Option<&Place> {
        self.order.initial.get(bee).map(|&place| &self.places[place])
    }

    /// Whether bees have their places for themselves, as far as there are places, so that other hives should leave them alone.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// The CPUs that the first so many bees have for their own, and that other hives should leave alone.
    pub(crate) fn exclusive_cpus(&self, bees: usize) -> CpuMask {
        let unshared = bees.min(self.order.initial.len());
        let places = self.order.initial[..unshared].iter().map(|&place| &self.places[place]);
        places.filter(|_| self.is_exclusive).flat_map(Place::cpus).copied().collect()
    }

    fn by_core(machine: &Machine, shrink: Shrink, taken: &CpuMask) -> Result<Self, PlaceError> {
        let cpus = cpus_in_order(machine, taken, shrink);
        if cpus.is_empty() {
            return Err(PlaceError::AllClaimed { allowed: machine.mask() });
        }
        Ok(Self::one_cpu_each(machine, &cpus))
    }

    /// Bees go where they would go by cores, so that a hive of as many bees as there are physical cores uses all units.
    fn by_unit(machine: &Machine, unit: Unit, shrink: Shrink) -> Self {
        let place =
            |number| Place::new(machine, &machine.unit_cpus(unit, number).collect::<Vec<_>>(), Some((unit, number)));
        let order = cpus_in_order(machine, &CpuMask::new(), shrink).iter().map(|cpu| cpu.unit_number(unit)).collect();
        Self {
            places: (0..machine.unit_count(unit)).map(place).collect(),
            order: PlaceOrder::repeating(order),
            is_exclusive: false,
        }
    }

    fn by_cpu_list(machine: &Machine, list: &[usize]) -> Result<Self, PlaceError> {
        if list.is_empty() {
            return Err(PlaceError::EmptyList);
        }
        let known: Vec<_> = list.iter().filter_map(|&cpu| machine.find_cpu(cpu)).collect();
        if known.len() == list.len() {
            return Ok(Self::one_cpu_each(machine, &known));
        }
        let allowed = machine.mask();
        Err(PlaceError::NotAllowed { cpus: list.iter().copied().collect::<CpuMask>().difference(&allowed), allowed })
    }

    /// The CPUs of the environment's list that the process may use, in its order, and what was left out.
    pub(crate) fn allowed_listed_cpus(
        machine: &Machine,
        list: &[usize],
    ) -> Result<(Vec<usize>, Option<String>), PlaceError> {
        let allowed = machine.mask();
        let known: Vec<_> = list.iter().copied().filter(|&cpu| allowed.contains(cpu)).collect();
        let unknown = list.iter().copied().collect::<CpuMask>().difference(&allowed);
        if known.is_empty() && !list.is_empty() {
            return Err(PlaceError::NotAllowed { cpus: unknown, allowed });
        }
        let problem = || {
            let (requested, used) = (Pin::Cpus(list.to_vec()), Pin::Cpus(known.clone()));
            format!(
                "HIVE_PIN={requested}: CPUs {unknown} are left out, as this process may use CPUs {allowed}; bees are on CPUs {used} in turn"
            )
        };
        let problem = (!unknown.is_empty()).then(problem);
        Ok((known, problem))
    }

    fn one_cpu_each(machine: &Machine, cpus: &[&Cpu]) -> Self {
        let places: Vec<_> = cpus.iter().map(|&cpu| Place::new(machine, &[cpu], None)).collect();
        Self { order: PlaceOrder::repeating((0..places.len()).collect()), places, is_exclusive: true }
    }
}

/// What a hive is pinned to if the user says nothing: to cores as long as every bee gets a free CPU of its own, else to
/// nothing, because two bees that are tied to one CPU wait for each other while others may be idle.
pub(crate) fn default_pin(machine: &Machine, taken: &CpuMask, bees: usize) -> Pin {
    let free = machine.mask().difference(taken).len();
    if bees <= free { Pin::Core } else { Pin::None }
}

/// Why there are no places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceError {
    /// A list without CPUs.
    EmptyList,
    /// A list with CPUs that the process may not use.
    NotAllowed { cpus: CpuMask, allowed: CpuMask },
    /// Every allowed CPU belongs to another hive.
    AllClaimed { allowed: CpuMask },
    /// A list of places without a CPU that the process may use.
    NoUsablePlace { list: String, allowed: CpuMask },
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyList => {
                write!(f, "the list of CPUs to pin to is empty: name some, such as \"0,2,4-7\", or do not pin")
            }
            Self::NotAllowed { cpus, allowed } => {
                write!(f, "CPUs {cpus} cannot be pinned to: this process may use CPUs {allowed}; name some of these")
            }
            Self::NoUsablePlace { list, allowed } => write!(
                f,
                "none of the places {list:?} has a CPU that this process may use: it may use CPUs {allowed}; name places with some of these"
            ),
            Self::AllClaimed { allowed } => write!(
                f,
                "no core is left to pin to: other hives of this process have all of its CPUs, {allowed}; \
                 list CPUs to share them, or do not pin"
            ),
        }
    }
}

impl std::error::Error for PlaceError {}
