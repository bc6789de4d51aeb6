//! Which CPUs each bee of a hive is pinned to: the public type [`Place`], and the list of places with the order in
//! which bees get them ([`PlaceAssignment`]).
//!
//! `place_policy.rs` makes the list. These are computations on the data of a [`Machine`] only: they ask the system for
//! nothing and change no thread.

use std::fmt;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Cpu, Machine, PlaceUnit, UNITS};
use crate::topology::pin_policy::Pin;
use crate::topology::proc_bind::PlaceOrder;

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
    /// The number of the unit of each kind that contains all of them, in the order of [`PlaceUnit`].
    common_units: [Option<usize>; UNITS],
    /// The kind and number of the unit that the place was made of; `None` if its CPUs were chosen one by one.
    unit: Option<(PlaceUnit, usize)>,
    /// Whether the place is on another machine than this one, so that a thread cannot be bound to it.
    pub(crate) is_foreign: bool,
}

impl Place {
    /// A place of these CPUs of the machine. `unit` is the unit that they were chosen by, for the report.
    pub(crate) fn new(machine: &Machine, cpus: &[&Cpu], unit: Option<(PlaceUnit, usize)>) -> Self {
        let common_unit = |unit| {
            let number = cpus.first()?.unit_number(unit);
            cpus.iter().all(|cpu| cpu.unit_number(unit) == number).then_some(number)
        };
        Self {
            cpus: cpus.iter().map(|cpu| cpu.os_index).collect(),
            common_units: PlaceUnit::ALL.map(common_unit),
            unit,
            is_foreign: machine.is_foreign,
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
        self.common_units[PlaceUnit::Cores as usize]
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
        self.common_units[PlaceUnit::LlCaches as usize]
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
        self.common_units[PlaceUnit::NumaDomains as usize]
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
        self.common_units[PlaceUnit::Sockets as usize]
    }

    /// The set of the place's CPUs.
    pub(crate) fn mask(&self) -> CpuMask {
        self.cpus.iter().copied().collect()
    }

    /// All CPUs of the machine on the NUMA node of the place. Those of the place alone, if it is on several nodes.
    pub(crate) fn node_cpus(&self, machine: &Machine) -> CpuMask {
        let Some(node) = self.node() else { return self.mask() };
        machine.unit_cpus(PlaceUnit::NumaDomains, node)
    }
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
#[derive(Clone, Debug, Default)]
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
        let places = (0..bees).map_while(|bee| self.unshared_place_of(bee));
        places.filter(|_| self.is_exclusive).flat_map(Place::cpus).copied().collect()
    }
}

/// What a hive is pinned to if the user says nothing: to cores if every bee gets a free CPU of its own, else to
/// nothing. Two bees that are bound to one CPU wait for each other even while other CPUs are idle.
pub(crate) fn default_pin(machine: &Machine, taken: &CpuMask, bees: usize) -> Pin {
    let free = machine.mask().difference(taken).len();
    if bees <= free { Pin::Core } else { Pin::None }
}

#[cfg(test)]
pub(crate) mod tests;
