//! Which CPUs the living hives of this process are pinned to.

use std::collections::BTreeMap;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::fork;
use crate::sys::process::ProcessLock;

/// The CPUs that living hives of this process are pinned to, so that two of them do not choose the same ones by default.
static CLAIMS: ProcessLock<Claims> = ProcessLock::new(Claims { generation: 0, hives_per_cpu: BTreeMap::new() });

struct Claims {
    /// A child after fork has the parent's claims in its memory, and none of its hives.
    generation: u32,
    /// How many hives have claimed a CPU: lists may overlap.
    hives_per_cpu: BTreeMap<usize, usize>,
}

impl Claims {
    /// Calls `f` with this process's. Nothing that can panic runs between two changes that belong together.
    fn with_current<R>(f: impl FnOnce(&mut Self) -> R) -> R {
        CLAIMS.with(|claims| {
            let generation = fork::generation();
            if claims.generation != generation {
                *claims = Self { generation, hives_per_cpu: BTreeMap::new() };
            }
            f(claims)
        })
    }

    fn claimed(&self) -> CpuMask {
        self.hives_per_cpu.keys().copied().collect()
    }

    fn insert(&mut self, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            *self.hives_per_cpu.entry(cpu).or_insert(0) += 1;
        }
    }

    fn remove(&mut self, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            if let Some(hives) = self.hives_per_cpu.get_mut(&cpu) {
                *hives -= 1;
            }
        }
        self.hives_per_cpu.retain(|_, hives| *hives > 0);
    }
}

/// Claims CPUs for a hive. `choose` gets what other hives have, and says what this one takes; no other hive chooses meanwhile.
pub(crate) fn claim<T>(choose: impl FnOnce(&CpuMask) -> (CpuMask, T)) -> (Claim, T) {
    Claims::with_current(|claims| {
        let (cpus, chosen) = choose(&claims.claimed());
        claims.insert(&cpus);
        (Claim { generation: claims.generation, cpus }, chosen)
    })
}

/// What a hive has claimed; dropping it gives the CPUs back.
#[must_use = "the CPUs are given back when this is dropped"]
#[derive(Debug)]
pub(crate) struct Claim {
    generation: u32,
    cpus: CpuMask,
}

impl Claim {
    /// Claims more CPUs, for bees that the hive has grown by: those that no other hive has. Says which of the CPUs asked for
    /// the hive has now.
    pub(crate) fn extend(&mut self, cpus: &CpuMask) -> CpuMask {
        Claims::with_current(|claims| {
            if claims.generation == self.generation {
                let free = cpus.difference(&claims.claimed());
                claims.insert(&free);
                self.cpus = self.cpus.union(&free);
            }
        });
        cpus.intersection(&self.cpus)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        Claims::with_current(|claims| {
            if claims.generation == self.generation {
                claims.remove(&self.cpus);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far from the CPUs that other tests may claim.
    fn mask(text: &str) -> CpuMask {
        text.parse().unwrap()
    }

    fn taken(among: &CpuMask) -> CpuMask {
        Claims::with_current(|claims| claims.claimed()).intersection(among)
    }

    #[test]
    fn a_claim_lasts_as_long_as_its_guard() {
        let (all, own) = (mask("40000-40009"), mask("40000-40003"));
        let (first, seen) = claim(|taken| (own.clone(), taken.intersection(&all)));
        assert_eq!(seen, CpuMask::new());
        // The second shares a CPU with the first, as lists may.
        let (mut second, seen) = claim(|taken| (mask("40003-40005"), taken.intersection(&all)));
        assert_eq!(seen, own);
        assert_eq!(taken(&all), mask("40000-40005"));
        assert_eq!(second.extend(&mask("40000,40005-40006")), mask("40005-40006"));
        assert_eq!(taken(&all), mask("40000-40006"));
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
        // As a guard looks that a child got by fork.
        let mut inherited = Claim { generation: u32::MAX, cpus: mask("42000") };
        assert_eq!(inherited.extend(&mask("42001")), CpuMask::new());
        drop(inherited);
        assert_eq!(taken(&all), mask("42000"));
    }
}
