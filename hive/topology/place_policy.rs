//! Gives bees places from a list of places ([`PlaceList`]) by a policy ([`ProcBind`]). A [`Pin`] is another way to
//! write some such lists ([`list_of`]).
//!
//! `place_map.rs` calls this. The grammar of lists and the policies are described in `docs/places.md`.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Machine, PlaceUnit};
use crate::topology::pin_policy::Pin;
use crate::topology::place_assignment::{Place, PlaceAssignment};
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::{PlaceOrder, ProcBind};
use crate::topology::shrink::{Shrink, cpus_in_order};

impl PlaceAssignment {
    /// Makes the places of `list` and says which bee gets which of them: by the policy `bind` for the `bees` that the
    /// hive is built with, and by `shrink`, hive's own order, if the policy is `true` and the places are named by a
    /// word. Also returns a warning if some of the list could not be had.
    ///
    /// The CPUs `taken` by other hives of the process are left out of places that are single threads or cores. They are
    /// not left out of larger units, which no hive has for itself alone, nor of listed CPUs, because the user named
    /// these on purpose.
    ///
    /// # Errors
    /// If no place is left.
    pub(crate) fn from_list(
        machine: &Machine,
        list: &PlaceList,
        bind: ProcBind,
        shrink: Shrink,
        bees: usize,
        taken: &CpuMask,
    ) -> Result<(Self, Option<String>), String> {
        let (places, is_exclusive, default_order, warning) = match list {
            PlaceList::Named { each, count } => {
                let is_exclusive = matches!(each, PlaceUnit::Threads | PlaceUnit::Cores);
                let none = CpuMask::new();
                let taken = if is_exclusive { taken } else { &none };
                let mut places = unit_places(machine, *each, taken);
                if places.is_empty() {
                    return Err(format!(
                        "no core is left to pin to: other hives of this process have all of its CPUs, {}; list CPUs to \
                         share them, or do not pin",
                        machine.mask()
                    ));
                }
                let warning = truncate(&mut places, list, *count);
                let order = core_order(machine, &places, shrink, taken);
                (places, is_exclusive, order, warning)
            }
            PlaceList::Listed(listed) => {
                let (places, warning) = usable_places(machine, listed);
                if places.is_empty() {
                    return Err(format!(
                        "none of the places \"{list}\" has a CPU that this process may use: it may use CPUs {}; name \
                         places with some of these",
                        machine.mask()
                    ));
                }
                // Listed places are the bees' own if none of them is larger than a core.
                let is_exclusive = places.iter().all(|place| place.core().is_some());
                let order = (0..places.len()).collect();
                (places, is_exclusive, order, warning)
            }
        };
        let order = PlaceOrder::new(bind, bees, places.len(), default_order);
        Ok((Self { places, order, is_exclusive }, warning))
    }
}

/// The list of places that says the same as `pin`; `None` if that says that bees are not bound. With a larger unit than
/// a core, each bee gets the unit of the CPU which it would get by [`Pin::Core`]. Thereby a hive of as many bees as
/// there are physical cores uses all units.
///
/// A user who sets the environment variable may not know the machine, so in a list from there CPUs that the process may
/// not use are left out, as in any list of places.
///
/// # Errors
/// If the program has listed no CPU to pin to, or one that may not be used; or the environment only such CPUs.
pub(crate) fn list_of(machine: &Machine, pin: &Pin, is_from_environment: bool) -> Result<Option<PlaceList>, String> {
    let each = match pin {
        Pin::None => return Ok(None),
        Pin::Core => PlaceUnit::Threads,
        Pin::Cluster => PlaceUnit::LlCaches,
        Pin::Node => PlaceUnit::NumaDomains,
        Pin::Package => PlaceUnit::Sockets,
        Pin::Cpus(list) if list.is_empty() => {
            let problem = "the list of CPUs to pin to is empty: name some, such as \"0,2,4-7\", or do not pin";
            return Err(problem.to_owned());
        }
        Pin::Cpus(list) => {
            let (unknown, allowed) = (cpus_not_allowed(machine, list), machine.mask());
            let is_known = |cpu| allowed.contains(cpu);
            if unknown.is_empty() || is_from_environment && list.iter().any(is_known) {
                return Ok(Some(PlaceList::Listed(list.iter().map(|&cpu| vec![cpu]).collect())));
            }
            let problem = "cannot be pinned to: this process may use CPUs";
            return Err(format!("CPUs {unknown} {problem} {allowed}; name some of these"));
        }
    };
    Ok(Some(PlaceList::Named { each, count: None }))
}

/// Those of the listed CPUs that the process may not use.
fn cpus_not_allowed<'c>(machine: &Machine, listed: impl IntoIterator<Item = &'c usize>) -> CpuMask {
    listed.into_iter().copied().collect::<CpuMask>().difference(&machine.mask())
}

/// Keeps the first `count` places. Returns a warning if there are fewer.
fn truncate(places: &mut Vec<Place>, list: &PlaceList, count: Option<NonZero<usize>>) -> Option<String> {
    let wanted = count.map_or(places.len(), NonZero::get);
    places.truncate(wanted);
    let found = places.len();
    (found < wanted).then(|| format!("{list} asks for {wanted} places and there are {found}: these are used"))
}

/// A place for each unit of the kind `each`, made of its CPUs that are not taken. Units without such CPUs make no
/// place. The places are in the order of the machine.
fn unit_places(machine: &Machine, each: PlaceUnit, taken: &CpuMask) -> Vec<Place> {
    let mut cpus = vec![Vec::new(); machine.unit_count(each)];
    for cpu in machine.cpus.iter().filter(|cpu| !taken.contains(&cpu.os_index)) {
        cpus[cpu.unit_number(each)].push(cpu);
    }
    let unit = |number| (each != PlaceUnit::Threads).then_some((each, number));
    let nonempty = cpus.iter().enumerate().filter(|(_, cpus)| !cpus.is_empty());
    nonempty.map(|(number, cpus)| Place::new(machine, cpus, unit(number))).collect()
}

/// The listed places, each without the CPUs that the process may not use, and without places that have no other CPUs.
/// Also returns a warning that names what was left out.
fn usable_places(machine: &Machine, listed: &[Vec<usize>]) -> (Vec<Place>, Option<String>) {
    let allowed_cpus: HashMap<_, _> = machine.cpus.iter().map(|cpu| (cpu.os_index, cpu)).collect();
    let usable_cpus = |cpus: &Vec<usize>| {
        // Each CPU once, in ascending order.
        let distinct: BTreeSet<_> = cpus.iter().collect();
        distinct.into_iter().filter_map(|cpu| allowed_cpus.get(cpu).copied()).collect::<Vec<_>>()
    };
    let usable: Vec<_> = listed.iter().map(usable_cpus).filter(|cpus| !cpus.is_empty()).collect();
    let places: Vec<_> = usable.iter().map(|cpus| Place::new(machine, cpus, None)).collect();
    let (allowed, unknown) = (machine.mask(), cpus_not_allowed(machine, listed.iter().flatten()));
    let problem = || {
        let empty = listed.len() - places.len();
        let without = if empty == 0 { String::new() } else { format!(", and places that have no other ({empty})") };
        format!("CPUs {unknown} of the places are left out{without}: this process may use CPUs {allowed}")
    };
    let problem = (!unknown.is_empty()).then(problem);
    (places, problem)
}

/// The order of places in which bees go where they would go if each was pinned to one CPU in the order `shrink`: each
/// bee gets the place that contains that CPU. A place therefore appears once for each of its CPUs.
fn core_order(machine: &Machine, places: &[Place], shrink: Shrink, taken: &CpuMask) -> Vec<usize> {
    let place_of_cpu =
        places.iter().enumerate().flat_map(|(number, place)| place.cpus().iter().map(move |&cpu| (cpu, number)));
    let place_numbers: HashMap<_, _> = place_of_cpu.collect();
    cpus_in_order(machine, taken, shrink).iter().filter_map(|cpu| place_numbers.get(&cpu.os_index).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::{FLAT, RawCpu};

    /// Two clusters of two cores with two threads.
    fn machine() -> Machine {
        let cpu = |cpu: u64| RawCpu { os_index: cpu as usize, keys: [cpu / 2, cpu / 4, 0, 0], slowness: 0 };
        Machine::new((0..8).map(cpu), FLAT, false)
    }

    fn from_list(list: &str, taken: &str) -> Result<(PlaceAssignment, Option<String>), String> {
        let (list, taken) = (list.parse().unwrap(), taken.parse().unwrap());
        PlaceAssignment::from_list(&machine(), &list, ProcBind::True, Shrink::Compact, 8, &taken)
    }

    /// The places of the first `bees` bees, and the CPUs that these bees claim.
    fn places(list: &str, taken: &str, bees: usize) -> (Vec<String>, String) {
        let places = from_list(list, taken).unwrap().0;
        let masks = (0..bees).map(|bee| places.place_of(bee).unwrap().mask().to_string()).collect();
        (masks, places.exclusive_cpus(bees).to_string())
    }

    #[test]
    fn taken_cpus_are_left_out_of_threads_and_cores_only() {
        let expected =
            |masks: &[&str], claims: &str| (masks.iter().map(|&mask| mask.to_owned()).collect(), claims.to_owned());
        assert_eq!(places("threads", "0", 8), expected(&["2", "4", "6", "1", "3", "5", "7", "2"], "1-7"));
        assert_eq!(places("cores", "0,4-5", 4), expected(&["2-3", "6-7", "1", "2-3"], "1-3,6-7"));
        assert_eq!(places("cores(2)", "0-1", 3), expected(&["2-3", "4-5", "2-3"], "2-5"));
        assert_eq!(places("ll_caches", "0,4-5", 3), expected(&["0-3", "0-3", "4-7"], ""));
        assert_eq!(places("{0},{4}", "0,4-5", 2), expected(&["0", "4"], "0,4"));
        assert_eq!(places("{0:4},{4}", "0,4-5", 2), expected(&["0-3", "4"], ""));
        let message = from_list("cores", "0-7").unwrap_err();
        assert!(message.contains("other hives of this process have all of its CPUs, 0-7"), "{message}");
    }

    #[test]
    fn what_cannot_be_had_is_told() {
        let warning = |list| from_list(list, "").unwrap().1.unwrap_or_default();
        assert_eq!(warning("cores(4)"), "");
        assert_eq!(warning("cores(5)"), "cores(5) asks for 5 places and there are 4: these are used");
        let message = warning("{6:4},{8},{0}");
        assert_eq!(
            message,
            "CPUs 8-9 of the places are left out, and places that have no other (1): this process may use CPUs 0-7"
        );
        assert!(from_list("{8:4}", "").unwrap_err().starts_with("none of the places \"{8:4}\" has a CPU"));
    }

    #[test]
    fn a_cpu_is_once_in_a_place_and_empty_places_are_none() {
        let list = PlaceList::Listed(vec![vec![3, 1, 3], vec![]]);
        let (machine, taken) = (machine(), CpuMask::new());
        let places = PlaceAssignment::from_list(&machine, &list, ProcBind::Close, Shrink::Compact, 2, &taken);
        let (places, _) = places.unwrap();
        assert_eq!(places.places.iter().map(Place::cpus).collect::<Vec<_>>(), [[1, 3]]);
    }
}
