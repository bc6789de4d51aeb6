//! Which CPUs living hives have claimed, so that two hives do not choose the same CPUs by default.
//!
//! `place_map.rs` makes a [`Claim`] when a hive is built and extends it when the hive grows. Dropping the [`Claim`],
//! with the hive, gives the CPUs back. Claims bind no thread. Other processes see them as locks (`sys/cpu_locks.rs`),
//! where the system has such locks.

use std::collections::BTreeMap;
use std::mem;

use crate::sys::cpu_locks::{self, CpuLocks};
use crate::sys::cpu_mask::CpuMask;
use crate::sys::process::OfProcess;
use crate::topology::machine::Machine;

/// The claims of all living hives of this process. A forked child has none of its parent's hives.
///
/// A panic leaves them usable: nothing in this file can panic between two changes that belong together.
static CLAIMS: OfProcess<Claims> = OfProcess::new(Claims { hives: BTreeMap::new(), locks: None });

#[derive(Default)]
struct Claims {
    /// For each claimed CPU, by the operating system's number, how many hives have claimed it. There can be several,
    /// because the user may list the same CPU for two hives.
    hives: BTreeMap<usize, usize>,
    /// By which other processes see the claims. None: there is no claim, or this system has no such locks.
    locks: Option<CpuLocks>,
}

impl Claims {
    /// The CPUs that at least one hive of this process has claimed.
    fn claimed(&self) -> CpuMask {
        self.hives.keys().copied().collect()
    }

    /// Those of the CPUs that hives of other processes have claimed.
    fn claimed_elsewhere(&self, among: &CpuMask) -> CpuMask {
        self.locks.as_ref().map_or_else(CpuMask::new, |locks| locks.locked_by_others(among))
    }

    /// Counts one more hive for each of the CPUs. `has_workers`: other processes have to see it.
    fn insert(&mut self, cpus: &CpuMask, has_workers: bool) {
        for cpu in cpus.iter() {
            *self.hives.entry(cpu).or_insert(0) += 1;
            self.locks.iter().filter(|_| has_workers).for_each(|locks| locks.lock(cpu));
        }
    }

    /// Counts one hive less for each of the CPUs, and forgets those that no hive has any more.
    fn remove(&mut self, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            if let Some(hives) = self.hives.get_mut(&cpu) {
                *hives -= 1;
                if *hives == 0 {
                    self.hives.remove(&cpu);
                    self.locks.iter().for_each(|locks| locks.unlock(cpu));
                }
            }
        }
        if self.hives.is_empty() {
            self.locks = None;
        }
    }
}

/// The CPUs of a machine that hives have claimed, before another one chooses its own.
pub(crate) struct Taken {
    /// Those of hives of this process.
    pub(crate) here: CpuMask,
    /// Those, and the ones of hives of other processes.
    pub(crate) anywhere: CpuMask,
}

/// Claims CPUs of `machine` for a hive of so many bees. `choose` gets the CPUs that other hives have claimed, and
/// returns the CPUs to claim and any other result. The lock is held while it runs, so no two hives choose at the same
/// time. Other processes do not see the claim of a hive of one bee, which binds no thread, nor that of CPUs of another
/// machine than this one.
pub(crate) fn claim<T>(machine: &Machine, bees: usize, choose: impl FnOnce(&Taken) -> (CpuMask, T)) -> (Claim, T) {
    let is_seen = !machine.is_foreign();
    // The files are opened before the lock is taken, since forks wait for it.
    let (_turn, mut locks) = if is_seen { (cpu_locks::take_turn(), CpuLocks::open()) } else { (None, None) };
    CLAIMS.with(|generation, claims| {
        claims.locks = claims.locks.take().or_else(|| locks.take());
        let here = claims.claimed();
        let elsewhere = if is_seen { claims.claimed_elsewhere(&machine.mask()) } else { CpuMask::new() };
        let anywhere = here.union(&elsewhere);
        let (cpus, chosen) = choose(&Taken { here, anywhere });
        claims.insert(&cpus, is_seen && bees > 1);
        (Claim { generation, cpus, is_seen }, chosen)
    })
}

/// The CPUs that a hive has claimed. Dropping it gives them back.
#[must_use = "the CPUs are given back when this is dropped"]
#[derive(Debug)]
pub(crate) struct Claim {
    /// The fork generation that the claim was made in. In a forked child the claim has no effect.
    generation: u32,
    cpus: CpuMask,
    /// Whether other processes may see it: the CPUs are this machine's.
    is_seen: bool,
}

impl Claim {
    /// Claims those of the CPUs that no hive of this process has claimed yet, for a bee that the hive has grown by.
    /// Returns which these are; the hive may have had others before.
    pub(crate) fn extend(&mut self, cpus: &CpuMask) -> CpuMask {
        let is_seen = self.is_seen;
        self.with_claims(|claims, own| {
            let free = cpus.difference(&claims.claimed());
            claims.insert(&free, is_seen);
            *own = own.union(&free);
            free
        })
    }

    /// Whether a hive of another process has claimed one of the CPUs, too.
    pub(crate) fn is_shared(&mut self, cpus: &CpuMask) -> bool {
        let is_seen = self.is_seen;
        self.with_claims(|claims, _| is_seen && !claims.claimed_elsewhere(cpus).is_empty())
    }

    /// Gives back CPUs that `extend` has returned, because the bee is not bound to them after all.
    pub(crate) fn give_back(&mut self, cpus: &CpuMask) {
        self.with_claims(|claims, own| {
            claims.remove(cpus);
            *own = own.difference(cpus);
        });
    }

    /// Whether the hive has all of the CPUs.
    pub(crate) fn has(&self, cpus: &CpuMask) -> bool {
        cpus.is_subset(&self.cpus)
    }

    /// Calls `change` with the claims of all hives and with the CPUs of this one. In a forked child it does nothing and
    /// returns the default.
    fn with_claims<R: Default>(&mut self, change: impl FnOnce(&mut Claims, &mut CpuMask) -> R) -> R {
        CLAIMS.with(|generation, claims| {
            let is_own = generation == self.generation;
            if is_own { change(claims, &mut self.cpus) } else { R::default() }
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let cpus = mem::take(&mut self.cpus);
        self.give_back(&cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::{RawCpu, TopologySource};

    const OWN_CPU: usize = 44_000;

    /// A set of CPUs. The tests of this file use numbers that no other test of the program claims.
    fn mask(text: &str) -> CpuMask {
        text.parse().unwrap()
    }

    /// Claims CPUs for a hive of two bees. `choose` gets those of the hives of this process.
    fn claim<T>(choose: impl FnOnce(&CpuMask) -> (CpuMask, T)) -> (Claim, T) {
        claim_for(2, |taken| choose(&taken.here))
    }

    /// Claims CPUs of a machine that has only one that no other test uses.
    fn claim_for<T>(bees: usize, choose: impl FnOnce(&Taken) -> (CpuMask, T)) -> (Claim, T) {
        let cpu = RawCpu { os_index: OWN_CPU, core: 0, cluster: 0, node: 0, package: 0, slowness: 0 };
        super::claim(&Machine::new([cpu], TopologySource::Flat, false), bees, choose)
    }

    /// The CPUs among these that are claimed.
    fn taken(among: &CpuMask) -> CpuMask {
        CLAIMS.with(|_, claims| claims.claimed()).intersection(among)
    }

    #[test]
    fn a_claim_lasts_as_long_as_its_guard() {
        let (all, own) = (mask("40000-40009"), mask("40000-40003"));
        let (first, seen) = claim(|taken| (own.clone(), taken.intersection(&all)));
        assert_eq!(seen, CpuMask::new());
        // The second claim shares CPU 40003 with the first: the user may list one CPU for two hives.
        let (mut second, seen) = claim(|taken| (mask("40003-40005"), taken.intersection(&all)));
        assert_eq!(seen, own);
        assert_eq!(taken(&all), mask("40000-40005"));
        assert_eq!(second.extend(&mask("40000,40005-40007")), mask("40006-40007"));
        assert!(second.has(&mask("40005-40007")) && !second.has(&mask("40000,40005")));
        assert_eq!(taken(&all), mask("40000-40007"));
        second.give_back(&mask("40007"));
        assert_eq!(taken(&all), mask("40000-40006"));
        assert!(!second.has(&mask("40007")));
        drop(first);
        assert_eq!(taken(&all), mask("40003-40006"));
        drop(second);
        assert_eq!(taken(&all), CpuMask::new());
    }

    #[test]
    fn a_panic_while_choosing_claims_nothing() {
        let all = mask("41000-41009");
        let choosing = std::panic::catch_unwind(|| drop(claim(|_| -> (CpuMask, ()) { panic!("as expected") })));
        assert!(choosing.is_err());
        let (_claim, ()) = claim(|_| (mask("41000"), ()));
        assert_eq!(taken(&all), mask("41000"));
    }

    #[test]
    fn a_claim_of_another_process_is_let_be() {
        let all = mask("42000-42009");
        let (_own, ()) = claim(|_| (mask("42000"), ()));
        // A forked child has such a claim: it is of another generation.
        let mut inherited = Claim { generation: u32::MAX, cpus: mask("42000"), is_seen: true };
        assert_eq!(inherited.extend(&mask("42001")), CpuMask::new());
        inherited.give_back(&mask("42000"));
        drop(inherited);
        assert_eq!(taken(&all), mask("42000"));
    }

    /// What another process would find: its locks are of another file.
    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    fn claims_and_those_of_other_processes_are_seen() {
        let others = CpuLocks::open().expect("the file is there");
        let seen = |among: &str| others.locked_by_others(&mask(among));
        let anywhere = |taken: &Taken| taken.anywhere.contains(OWN_CPU);
        let (of_one_bee, is_own_taken) = claim_for(1, |taken| (mask("44001"), anywhere(taken)));
        assert!(!is_own_taken);
        let (mut of_two, ()) = claim(|_| (mask("44002"), ()));
        assert_eq!(seen("44000-44009"), mask("44002"), "a hive of one bee binds nobody");
        others.lock(44_003);
        assert_eq!(of_two.extend(&mask("44003-44004")), mask("44003-44004"));
        assert!(of_two.is_shared(&mask("44003")) && !of_two.is_shared(&mask("44004")));
        assert_eq!(seen("44000-44009"), mask("44002-44004"));
        others.lock(OWN_CPU);
        let (third, is_own_taken) = claim_for(2, |taken| (CpuMask::new(), anywhere(taken)));
        assert!(is_own_taken && !third.has(&mask("44000")));
        drop((of_one_bee, of_two, third));
        assert_eq!(seen("44000-44009"), mask(""));
    }
}
