//! The places of a hive's members by a list of places.

use std::collections::HashMap;

use super::machine::{Cpu, Machine, Unit};
use super::mask::CpuMask;
use super::order::{Shrink, by_turn};
use super::place_list::{PlaceList, PlaceUnit};
use super::places::{Place, PlaceError, Places};
use super::proc_bind::{ProcBind, Turns};

/// What members get places by.
pub(crate) struct Sharing {
    pub(crate) bind: ProcBind,
    pub(crate) shrink: Shrink,
    /// Members that the hive is built with.
    pub(crate) members: usize,
}

impl Places {
    /// The places of a list, and what of the list is not as it was asked for. CPUs that are `taken` by other hives of the process are left out of
    /// threads and cores; a larger unit is never taken as a whole, and a list of CPUs is the user's own word.
    pub(crate) fn of_list(
        machine: &Machine,
        list: &PlaceList,
        sharing: &Sharing,
        taken: &CpuMask,
    ) -> Result<(Self, Vec<String>), PlaceError> {
        let mut warnings = Vec::new();
        let places = match list {
            PlaceList::Named { each, count } => {
                let mut places = named(machine, *each, taken);
                if places.is_empty() {
                    return Err(PlaceError::AllTaken { allowed: machine.mask() });
                }
                let wanted = count.map_or(places.len(), usize::from);
                warnings.extend(
                    (wanted > places.len())
                        .then(|| format!("{list} asks for {wanted} places and there are {}: these are used", places.len())),
                );
                places.truncate(wanted);
                places
            }
            PlaceList::Listed(listed) => {
                let (places, problems) = known(machine, listed);
                warnings.extend(problems);
                if places.is_empty() {
                    return Err(PlaceError::NoneLeft { list: list.to_string(), allowed: machine.mask() });
                }
                places
            }
        };
        let own = || match list {
            PlaceList::Named { .. } => in_hive_s_order(machine, &places, sharing.shrink, taken),
            PlaceList::Listed(_) => (0..places.len()).collect(),
        };
        let turns = Turns::new(sharing.bind, sharing.members, places.len(), own);
        let exclusive = places.iter().all(|place| place.core().is_some());
        Ok((Self { places, turns, exclusive }, warnings))
    }
}

/// A place for each unit, in the machine's order.
fn named(machine: &Machine, each: PlaceUnit, taken: &CpuMask) -> Vec<Place> {
    let is_free = |cpu: &&Cpu| !taken.contains(cpu.os_index);
    let Some(unit) = each.unit() else {
        return machine.cpus().iter().filter(is_free).map(|cpu| Place::new(machine, &[cpu], None)).collect();
    };
    let mut cpus = vec![Vec::new(); machine.count(unit)];
    for cpu in machine.cpus().iter().filter(|cpu| unit != Unit::Core || is_free(cpu)) {
        cpus[cpu.number(unit)].push(cpu);
    }
    let left = cpus.iter().enumerate().filter(|(_, cpus)| !cpus.is_empty());
    left.map(|(number, cpus)| Place::new(machine, cpus, Some((unit, number)))).collect()
}

/// The listed places as far as the process may use their CPUs, and what was left out.
fn known(machine: &Machine, listed: &[Vec<usize>]) -> (Vec<Place>, Option<String>) {
    let known: HashMap<_, _> = machine.cpus().iter().map(|cpu| (cpu.os_index, cpu)).collect();
    let of_place = |cpus: &Vec<usize>| cpus.iter().filter_map(|cpu| known.get(cpu).copied()).collect::<Vec<_>>();
    let left: Vec<_> = listed.iter().map(of_place).filter(|cpus| !cpus.is_empty()).collect();
    let places: Vec<_> = left.iter().map(|cpus| Place::new(machine, cpus, None)).collect();
    let allowed = machine.mask();
    let unknown = listed.iter().flatten().copied().collect::<CpuMask>().difference(&allowed);
    let problem = || {
        let empty = listed.len() - places.len();
        let without = if empty == 0 { String::new() } else { format!(", and {empty} places that have no other") };
        format!("CPUs {unknown} of the places are left out{without}: this process may use CPUs {allowed}")
    };
    let problem = (!unknown.is_empty()).then(problem);
    (places, problem)
}

/// Members go where they would go by cores: each to the place that has the CPU.
fn in_hive_s_order(machine: &Machine, places: &[Place], shrink: Shrink, taken: &CpuMask) -> Vec<usize> {
    let of_cpus = places.iter().enumerate().flat_map(|(number, place)| place.cpus().iter().map(move |&cpu| (cpu, number)));
    let number: HashMap<_, _> = of_cpus.collect();
    // Larger units have all of their CPUs, whoever has taken some.
    let order = [taken.clone(), CpuMask::new()].map(|taken| by_turn(machine, &taken, shrink));
    let cpus = if places.iter().all(|place| place.core().is_some()) { &order[0] } else { &order[1] };
    cpus.iter().filter_map(|cpu| number.get(&cpu.os_index).copied()).collect()
}
