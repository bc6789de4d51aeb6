//! Which CPUs the living hives of this process have claimed, so that two hives do not choose the same CPUs by default.
//!
//! `place_map.rs` makes a [`Claim`] when a hive is built and extends it when the hive grows. Dropping the [`Claim`],
//! with the hive, gives the CPUs back. Claims bind no thread and are not known to other processes.

use std::collections::BTreeMap;
use std::mem;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::process::OfProcess;

/// The claims of all living hives of this process. A forked child has none of its parent's hives.
///
/// A panic leaves them usable: nothing in this file can panic between two changes that belong together.
static CLAIMS: OfProcess<Claims> = OfProcess::new(Claims(BTreeMap::new()));

/// For each claimed CPU, by the operating system's number, how many hives have claimed it. There can be several,
/// because the user may list the same CPU for two hives.
#[derive(Default)]
struct Claims(BTreeMap<usize, usize>);

impl Claims {
    /// The CPUs that at least one hive has claimed.
    fn claimed(&self) -> CpuMask {
        self.0.keys().copied().collect()
    }

    /// Counts one more hive for each of the CPUs.
    fn insert(&mut self, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            *self.0.entry(cpu).or_insert(0) += 1;
        }
    }

    /// Counts one hive less for each of the CPUs, and forgets those that no hive has any more.
    fn remove(&mut self, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            if let Some(hives) = self.0.get_mut(&cpu) {
                *hives -= 1;
            }
        }
        self.0.retain(|_, hives| *hives > 0);
    }
}

/// Claims CPUs for a hive. `choose` gets the CPUs that other hives have claimed, and returns the CPUs to claim and any
/// other result. The lock is held while it runs, so no two hives choose at the same time.
pub(crate) fn claim<T>(choose: impl FnOnce(&CpuMask) -> (CpuMask, T)) -> (Claim, T) {
    CLAIMS.with(|generation, claims| {
        let (cpus, chosen) = choose(&claims.claimed());
        claims.insert(&cpus);
        (Claim { generation, cpus }, chosen)
    })
}

/// The CPUs that a hive has claimed. Dropping it gives them back.
#[must_use = "the CPUs are given back when this is dropped"]
#[derive(Debug)]
pub(crate) struct Claim {
    /// The fork generation that the claim was made in. In a forked child the claim has no effect.
    generation: u32,
    cpus: CpuMask,
}

impl Claim {
    /// Claims those of the CPUs that no hive has claimed yet, for a bee that the hive has grown by. Returns which these
    /// are; the hive may have had others before.
    pub(crate) fn extend(&mut self, cpus: &CpuMask) -> CpuMask {
        self.with_claims(|claims, own| {
            let free = cpus.difference(&claims.claimed());
            claims.insert(&free);
            *own = own.union(&free);
            free
        })
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

    /// A set of CPUs. The tests of this file use numbers that no other test of the program claims.
    fn mask(text: &str) -> CpuMask {
        text.parse().unwrap()
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
        let mut inherited = Claim { generation: u32::MAX, cpus: mask("42000") };
        assert_eq!(inherited.extend(&mask("42001")), CpuMask::new());
        inherited.give_back(&mask("42000"));
        drop(inherited);
        assert_eq!(taken(&all), mask("42000"));
    }
}
