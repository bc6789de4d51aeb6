//! Which CPUs each bee of a hive is pinned to: the public type [`Place`], and the list of places with the order in
//! which bees get them ([`PlaceAssignment`]).
//!
//! This file makes the places of a `Pin`, and `place_policy.rs` those of a list of places; `place_map.rs` calls both.
//! These are computations on the data of a [`Machine`] only: they ask the system for nothing and change no thread.

use std::fmt;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Cpu, Machine, Unit};
use crate::topology::pin_policy::Pin;
use crate::topology::proc_bind::PlaceOrder;
use crate::topology::shrink::{Shrink, cpus_in_order};

/// The CPUs that one bee of a hive is pinned to.
///
/// The numbers of its core, cluster, node and package count the units that the process may use, from 0. Each is `None`
/// if the place has CPUs in more than one such unit.
///
/// ```
/// let hive = hive::Hive::new(2)?;
/// for (bee, place) in hive.places().iter().enumerate() {
///     match place {
///         Some(place) => println!("bee {bee} is bound to {place}"),
///         None => println!("bee {bee} is not bound"),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The operating system's numbers of the CPUs.
    cpus: Vec<usize>,
    core: Option<usize>,
    cluster: Option<usize>,
    node: Option<usize>,
    package: Option<usize>,
    /// The kind and number of the unit that the place was made of; `None` if its CPUs were chosen one by one.
    unit: Option<(Unit, usize)>,
    /// Whether the place is on another machine than this one: see [`Machine::is_foreign`].
    is_foreign: bool,
}

impl Place {
    /// A place of these CPUs of the machine. `unit` is the unit that they were chosen by, for the report.
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
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// for place in hive.places().iter().flatten() {
    ///     println!("CPUs {:?}", place.cpus());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// The number of the physical core that contains all CPUs of the place, if there is one.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// for place in hive.places().iter().flatten() {
    ///     println!("core {:?}", place.core());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn core(&self) -> Option<usize> {
        self.core
    }

    /// The number of the cluster that contains all CPUs of the place, if there is one. A cluster is the CPUs that share
    /// a last-level cache.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let places = hive.places();
    /// if let [Some(a), Some(b)] = &places[..2] {
    ///     println!("bees 0 and 1 share a cache: {}", a.cluster().is_some() && a.cluster() == b.cluster());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cluster(&self) -> Option<usize> {
        self.cluster
    }

    /// The number of the NUMA node that contains all CPUs of the place, if there is one.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// for place in hive.places().iter().flatten() {
    ///     let node = place.node().and_then(|node| hive.memory_node(node)); // by the system's number
    ///     println!("{place}: memory of node {node:?}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn node(&self) -> Option<usize> {
        self.node
    }

    /// The number of the package (socket) that contains all CPUs of the place, if there is one.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// for place in hive.places().iter().flatten() {
    ///     println!("package {:?}", place.package());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn package(&self) -> Option<usize> {
        self.package
    }

    /// The set of the place's CPUs.
    pub(crate) fn mask(&self) -> CpuMask {
        self.cpus.iter().copied().collect()
    }

    /// All CPUs of the machine on the NUMA node of the place. Those of the place alone, if it is on several nodes.
    pub(crate) fn node_cpus(&self, machine: &Machine) -> CpuMask {
        let Some(node) = self.node else { return self.mask() };
        machine.unit_cpus(Unit::Node, node).map(|cpu| cpu.os_index).collect()
    }

    /// Whether the place is on another machine than this one, so that a thread cannot be bound to it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}

/// The number of the unit that all of the CPUs belong to; `None` if they belong to several, or if there is no CPU.
fn common_unit_number(cpus: &[&Cpu], unit: Unit) -> Option<usize> {
    let number = cpus.first()?.unit_number(unit);
    cpus.iter().all(|cpu| cpu.unit_number(unit) == number).then_some(number)
}

/// A short form: "cpu 3", "cpus 0-7 (node 0)".
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
    /// All places. A CPU that the user lists twice makes two equal places. Empty if bees are not bound.
    pub(crate) places: Vec<Place>,
    /// Which of the places each bee has.
    pub(crate) order: PlaceOrder,
    /// Whether bees have their places for themselves, as far as there are enough, so that other hives should not use
    /// them: each place is a core or a part of one.
    pub(crate) is_exclusive: bool,
}

impl PlaceAssignment {
    /// The places of a hive's bees for a `Pin`. The CPUs `taken` by other hives of the process are left out if each bee
    /// gets a CPU of its own. They are not left out of larger units, which no hive has for itself alone, nor of a list,
    /// because the user named its CPUs on purpose.
    ///
    /// # Errors
    /// If there is no CPU to pin to, or if a listed CPU may not be used.
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

    /// The place of a bee; `None` if it may run anywhere.
    pub(crate) fn place_of(&self, bee: usize) -> Option<&Place> {
        self.order.place_of(bee).map(|place| &self.places[place])
    }

    /// The place of a bee from the first pass through the order. `None` for a bee after the end of that pass, for which
    /// [`PlaceAssignment::place_of`] starts again.
    pub(crate) fn unshared_place_of(&self, bee: usize) -> Option<&Place> {
        self.order.initial.get(bee).map(|&place| &self.places[place])
    }

    /// The CPUs that the first `bees` bees have for themselves, and that other hives should not use. Empty if the
    /// places are not exclusive.
    pub(crate) fn exclusive_cpus(&self, bees: usize) -> CpuMask {
        let unshared = bees.min(self.order.initial.len());
        let places = self.order.initial[..unshared].iter().map(|&place| &self.places[place]);
        places.filter(|_| self.is_exclusive).flat_map(Place::cpus).copied().collect()
    }

    /// One free CPU for each bee, in the order `shrink`.
    fn by_core(machine: &Machine, shrink: Shrink, taken: &CpuMask) -> Result<Self, PlaceError> {
        let cpus = cpus_in_order(machine, taken, shrink);
        if cpus.is_empty() {
            return Err(PlaceError::AllClaimed { allowed: machine.mask() });
        }
        Ok(Self::one_cpu_each(machine, &cpus))
    }

    /// Each bee gets the whole unit that contains the CPU which it would get by [`PlaceAssignment::by_core`]. Thereby a
    /// hive of as many bees as there are physical cores uses all units.
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

    /// The listed CPUs, in the order of the list, which may name a CPU several times.
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

    /// The CPUs of the list in `HIVE_PIN` that the process may use, in the order of the list, and a warning that names
    /// those that were left out.
    ///
    /// # Errors
    /// If the process may use none of them.
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
                "HIVE_PIN={requested}: CPUs {unknown} are left out, as this process may use CPUs {allowed}; \
                 bees are on CPUs {used} in turn"
            )
        };
        let problem = (!unknown.is_empty()).then(problem);
        Ok((known, problem))
    }

    /// A place for each of the CPUs, in their order.
    fn one_cpu_each(machine: &Machine, cpus: &[&Cpu]) -> Self {
        let places: Vec<_> = cpus.iter().map(|&cpu| Place::new(machine, &[cpu], None)).collect();
        Self { order: PlaceOrder::repeating((0..places.len()).collect()), places, is_exclusive: true }
    }
}

/// What a hive is pinned to if the user says nothing: to cores if every bee gets a free CPU of its own, else to
/// nothing. Two bees that are bound to one CPU wait for each other even while other CPUs are idle.
pub(crate) fn default_pin(machine: &Machine, taken: &CpuMask, bees: usize) -> Pin {
    let free = machine.mask().difference(taken).len();
    if bees <= free { Pin::Core } else { Pin::None }
}

/// Why there are no places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceError {
    /// The list of CPUs is empty.
    EmptyList,
    /// The process may not use some of the listed CPUs.
    NotAllowed { cpus: CpuMask, allowed: CpuMask },
    /// Other hives have all of the allowed CPUs.
    AllClaimed { allowed: CpuMask },
    /// No place of the list has a CPU that the process may use.
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
                "none of the places {list:?} has a CPU that this process may use: it may use CPUs {allowed}; \
                 name places with some of these"
            ),
            Self::AllClaimed { allowed } => write!(
                f,
                "no core is left to pin to: other hives of this process have all of its CPUs, {allowed}; \
                 list CPUs to share them, or do not pin"
            ),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
