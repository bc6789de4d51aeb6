//! Which place each bee of a hive has, and the claim that keeps other hives of the process off these places.
//!
//! `Builder::build` calls [`PlaceMap::build`]. Later, the thread of each worker that the hive hires calls
//! [`PlaceMap::bind_worker`]. Reports, the team's shape and the order in which bees steal from one another use the
//! places, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::sys::cpu_mask::CpuMask;
use crate::topology::binding_request::{Binding, ResolvedBinding};
use crate::topology::claims::{self, Choice, Claim};
use crate::topology::machine::Machine;
use crate::topology::machine_info::MachineInfo;
use crate::topology::pin_policy::Pin;
use crate::topology::pinning::{self, BindError, RestoreBinding};
use crate::topology::place_assignment::{Place, PlaceAssignment, default_pin};
use crate::topology::place_policy;
use crate::topology::proc_bind::ProcBind;

/// The places of a hive's bees.
pub(crate) struct PlaceMap {
    /// What bees are bound to: what the user asked for, or the default that was chosen.
    pub(crate) binding: Binding,
    /// Whether the user said nothing about pinning, so that the binding is hive's own choice.
    pub(crate) is_default: bool,
    /// The CPUs of other hives, if bees are not bound by default because too few are left.
    pub(crate) taken: Option<CpuMask>,
    /// The places of all bees that the hive may ever have.
    places: PlaceAssignment,
    /// A warning about what could not be done as the user asked for it, if there is one.
    pub(crate) warning: Option<String>,
    /// The CPUs that this hive has claimed, so that other hives do not choose them by default.
    claim: Mutex<Claim>,
    /// For each bee, by its number, whether it is not bound to the place that was planned for it.
    /// [`PlaceMap::bind_worker`] sets a flag and nothing clears it. These are atomics and not behind a lock, because
    /// a forked child may ask for places, too, and could find a lock locked for ever.
    unplaced: Box<[AtomicBool]>,
}

impl PlaceMap {
    /// Chooses the places for a hive that starts with `bees` bees and may grow to `max_bees`, apart from those of other
    /// hives if that is possible, and claims their CPUs. `settings` says what the user has asked for.
    ///
    /// # Errors
    /// If what the user asked for has no CPU that the process may use, or if other hives have all of them.
    pub(crate) fn build(
        settings: &ResolvedBinding,
        bees: usize,
        max_bees: usize,
        machine_info: &MachineInfo,
    ) -> Result<Self, String> {
        let machine = &machine_info.machine;
        let is_default = settings.binding.is_none();
        let is_bound = bees > 1 && !machine.is_foreign && settings.binding != Some(Binding::Pin(Pin::None));
        let choice = Choice::of(is_default, is_bound);
        let (claim, (chosen, taken)) = claims::claim(machine, choice, |taken| {
            let chosen = choose_places(settings, bees, machine, taken);
            // Only places that each bee has to itself are claimed. Nothing is claimed if there are no places.
            let cpus = chosen.as_ref().map_or_else(|_| CpuMask::new(), |(_, places, _)| places.exclusive_cpus(bees));
            (cpus, (chosen, taken.clone()))
        });
        let (binding, places, warning) = chosen?;
        let is_crowded_out = is_default && places.places.is_empty() && bees <= machine.cpus.len();
        let taken = is_crowded_out.then_some(taken);
        // A hive of its queen alone may get a worker that runs tasks, so there is room for at least two bees.
        let unplaced = (0..max_bees.max(2)).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { binding, is_default, taken, places, warning, claim: Mutex::new(claim), unplaced })
    }

    /// The place of a bee; `None` if it is not bound.
    pub(crate) fn place_of(&self, bee: usize) -> Option<&Place> {
        // Relaxed, may read what the store in `bind_worker` wrote: no other data is read because of this flag. A
        // caller that still reads `false` gets the place as it was planned.
        let is_unplaced = self.unplaced.get(bee).is_some_and(|unplaced| unplaced.load(Ordering::Relaxed));
        if is_unplaced { None } else { self.planned_place(bee) }
    }

    /// The place that a bee has unless it could not be bound to it. If the user said nothing about pinning, bees after
    /// the first pass through the places have none, because they would start again at places of earlier bees.
    fn planned_place(&self, bee: usize) -> Option<&Place> {
        if self.is_default { self.places.unshared_place_of(bee) } else { self.places.place_of(bee) }
    }

    /// The addresses of those of the first `bees` bees that share no place with an earlier bee, in the order of the
    /// bees. Bees after the first pass through the places start again at places of earlier bees; the list ends before
    /// them.
    pub(crate) fn unshared_addresses(&self, bees: u32) -> Vec<Address> {
        (0..bees as usize).map_while(|bee| self.places.unshared_place_of(bee)).map(address_of).collect()
    }

    /// The addresses of the first of the hive's `bees`, in the order of the bees. The list ends before the first bee
    /// that is not bound; the bees after that one are not bound either.
    pub(crate) fn addresses(&self, bees: u32) -> Vec<Address> {
        (0..bees as usize).map_while(|bee| self.planned_place(bee)).map(address_of).collect()
    }

    /// The CPUs that the workers of a hive of `bees` bees have for themselves, that is, without the queen's. Empty if
    /// the queen has no place.
    pub(crate) fn worker_cpus(&self, bees: usize) -> CpuMask {
        let all = self.places.exclusive_cpus(bees);
        self.place_of(0).map_or_else(CpuMask::new, |queen| all.difference(&queen.mask()))
    }

    /// Binds the calling thread, the worker that is bee number `bee`, to its place, whose CPUs it claims for this hive.
    /// Returns the place, and what has to live as long as the thread is bound; `None` for a bee that is not to be
    /// bound. In the default binding, that is also a bee whose place another hive has claimed since this hive was
    /// built, here or in another process.
    ///
    /// The thread does this itself, so a thread that could not be made claims nothing. If it is not bound, what it has
    /// claimed is given back, and [`PlaceMap::place_of`] returns `None` for the bee from now on.
    ///
    /// # Errors
    /// If the system refuses to bind the thread.
    pub(crate) fn bind_worker(&self, bee: usize) -> Result<Option<(&Place, Option<RestoreBinding>)>, BindError> {
        let Some(place) = self.place_of(bee) else { return Ok(None) };
        let wanted = if self.places.is_exclusive { place.mask() } else { CpuMask::new() };
        let claim = || self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        let newly_claimed = claim().extend(&wanted, Choice::of(self.is_default, !place.is_foreign));
        let is_taken = self.is_default && !claim().has(&wanted);
        let bound = if is_taken { Ok(None) } else { pinning::bind(place).map(|guard| Some((place, guard))) };
        if !matches!(bound, Ok(Some(_))) {
            claim().give_back(&newly_claimed);
            // Relaxed, may be read by the load in `place_of`: the flag publishes no other data.
            self.unplaced[bee].store(true, Ordering::Relaxed);
        }
        bound
    }
}

/// The numbers of the core, the cluster and the NUMA node that a bee is bound to, in this order; `None` where the bee
/// is not bound to a single one. The protocol calls this a bee's `Location`.
pub(crate) type Address = [Option<usize>; 3];

/// The address of a bee at `place`.
pub(crate) fn address_of(place: &Place) -> Address {
    [place.core(), place.cluster(), place.node()]
}

/// The binding that is in effect, the places by it, and a warning about what of it could not be had. `claimed` are
/// the CPUs of other hives.
fn choose_places(
    settings: &ResolvedBinding,
    bees: usize,
    machine: &Machine,
    claimed: &CpuMask,
) -> Result<(Binding, PlaceAssignment, Option<String>), String> {
    let default_binding = || Binding::Pin(default_pin(machine, claimed, bees));
    let binding = settings.binding.clone().unwrap_or_else(default_binding);
    let (list, bind, setting) = match &binding {
        Binding::Pin(pin) => {
            let list = place_policy::list_of(machine, pin, settings.is_from_environment)?;
            // Only in a list of CPUs from the environment something may be left out.
            (list, ProcBind::True, format!("HIVE_PIN={pin}: "))
        }
        Binding::Places { list, proc_bind } => (Some(list.clone()), *proc_bind, String::new()),
    };
    let Some(list) = list else { return Ok((binding, PlaceAssignment::default(), None)) };
    let (places, warning) = PlaceAssignment::from_list(machine, &list, bind, settings.shrink, bees, claimed)?;
    Ok((binding, places, warning.map(|warning| setting + &warning)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::protocol::neighbours::{Distance, Neighbours};
    use crate::topology::binding_request::BindingRequest;
    use crate::topology::machine::{FLAT, RawCpu};

    #[test]
    fn neighbours_follow_the_machine() {
        // Two nodes of two clusters of two cores of two threads. The CPUs have numbers that no machine in use has, so
        // no other test's claims are in the way.
        let cpu =
            |cpu: u64| RawCpu { os_index: 7_000 + cpu as usize, keys: [cpu / 2, cpu / 4, cpu / 8, 0], slowness: 0 };
        let machine = Arc::new(Machine::new((0..16).map(cpu), FLAT, true));
        let request = BindingRequest { pin: Some(Pin::Core), ..BindingRequest::default() };
        let settings = request.resolve(&BindingRequest::default()).unwrap();
        let machine_info = MachineInfo { machine, mask: None, quota: None, warnings: Vec::new() };
        let place_map = PlaceMap::build(&settings, 16, 1024, &machine_info).unwrap();
        let neighbours = Neighbours::new(&place_map.unshared_addresses(1024));
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
            let found: Vec<_> = neighbours.by_distance(bee, 15).map(|(other, _)| shared(other)).collect();
            assert_eq!(found.len(), 15);
            assert!(found.is_sorted_by(|a, b| a >= b), "bee {bee}: {found:?}");
            assert_eq!([0, 1, 2].map(|level| found.iter().filter(|shared| shared[level]).count()), [1, 3, 7]);
        }
        assert_eq!(neighbours.by_distance(0, 16).last(), Some((16, Distance::Far)), "it has no place");
    }
}
