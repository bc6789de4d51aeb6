//! Which CPUs living hives have claimed, so that two hives do not choose the same CPUs by default.
//!
//! `place_map.rs` makes a [`Claim`] when a hive is built and extends it when the hive grows. Dropping the [`Claim`],
//! with the hive, gives the CPUs back. Claims bind no thread. Other processes see them as locks (`sys/cpu_locks.rs`),
//! where the system has such locks.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use crate::sys::cpu_locks::CpuLocks;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::process::OfProcess;
use crate::topology::machine::Machine;

/// The claims of all living hives of this process. A forked child has none of its parent's hives.
///
/// A panic leaves them usable: nothing in this file can panic between two changes that belong together.
static CLAIMS: OfProcess<Claims> = OfProcess::new(Claims { of_hives: BTreeMap::new(), last: 0, locks: None });

#[derive(Default)]
struct Claims {
    /// By the number of its claim, what each hive has claimed, and whether other processes are to see that. Several may
    /// have the same CPU, because the user may list it for two hives. One that is bound to no CPU has claimed none.
    of_hives: BTreeMap<u64, (CpuMask, bool)>,
    /// The number of the last claim.
    last: u64,
    /// By which other processes see the claims, and that there are hives. None: there is no hive, or this system has no
    /// such locks.
    locks: Option<CpuLocks>,
}

impl Claims {
    /// The CPUs that at least one hive of this process has claimed.
    fn claimed(&self) -> CpuMask {
        self.of_hives.values().flat_map(|(cpus, _)| cpus.iter()).collect()
    }

    /// The CPUs whose claims other processes are to see.
    fn seen(&self) -> CpuMask {
        self.of_hives.values().filter(|(_, is_seen)| *is_seen).flat_map(|(cpus, _)| cpus.iter()).collect()
    }

    /// The CPUs that other hives have, as far as the choice is to respect it: those that hives of this process have
    /// claimed; and if hive chooses among the CPUs `among`, those of them that hives of other processes have claimed.
    fn taken(&self, choice: Choice, among: &CpuMask) -> CpuMask {
        match &self.locks {
            Some(locks) if choice == Choice::ByHive => self.claimed().union(&locks.locked_by_others(among)),
            _ => self.claimed(),
        }
    }

    /// Opens the file of the locks, if there are none, or if the program has closed it. (That takes microseconds, so
    /// forks may wait for it; and a child that was forked in between could not forget it.)
    fn have_locks(&mut self) {
        if self.locks.as_ref().is_some_and(CpuLocks::are_there) {
            return;
        }
        self.locks = None;
        self.locks = CpuLocks::open();
        let seen = self.seen();
        self.locks.iter().for_each(|locks| locks.change(&CpuMask::new(), &seen));
    }

    /// Makes `cpus` all that the claim `number` has.
    fn set(&mut self, number: u64, cpus: &CpuMask, is_seen: bool) {
        self.change(|of_hives| _ = of_hives.insert(number, (cpus.clone(), is_seen)));
    }

    /// Changes the claims, and lets everybody know.
    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<u64, (CpuMask, bool)>)) {
        let before = self.seen();
        change(&mut self.of_hives);
        let (now, unbound) = (self.seen(), self.of_hives.values().filter(|(cpus, _)| cpus.is_empty()).count());
        CpuLocks::note_hives(self.of_hives.len(), unbound);
        self.locks.iter().for_each(|locks| {
            locks.change(&before, &now);
            locks.show_unbound(unbound > 0);
        });
    }
}

/// How a hive comes to its CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nobody is bound to them (yet): its bees are not bound, it has only a queen, they are CPUs of another machine, or
    /// this is the claim of a set of hives, each of which claims its own CPUs. Other processes do not see such a claim,
    /// and what they have claimed is not respected.
    Unseen,
    /// The user has chosen them.
    ByUser,
    /// Hive chooses them.
    ByHive,
}

impl Choice {
    /// The choice of places for a hive. `is_default`: the user has said nothing about them. `is_bound`: its bees are
    /// bound to CPUs of this machine.
    pub(crate) fn of(is_default: bool, is_bound: bool) -> Self {
        let chosen = if is_default { Self::ByHive } else { Self::ByUser };
        if is_bound { chosen } else { Self::Unseen }
    }

    /// Whether other processes are to see what is claimed.
    fn is_seen(self) -> bool {
        self != Self::Unseen
    }
}

/// Claims CPUs of `machine` for a hive. `choose` gets the CPUs that other hives have claimed, those of other processes
/// among them if hive chooses, and returns the CPUs to claim and any other result. The lock is held while it runs, so
/// no two hives choose at the same time. Other processes see the claim unless `choice` is `Unseen`.
pub(crate) fn claim<T>(machine: &Machine, choice: Choice, choose: impl FnOnce(&CpuMask) -> (CpuMask, T)) -> (Claim, T) {
    let is_seen = choice.is_seen();
    in_turn(choice, |generation, claims| {
        let (cpus, chosen) = choose(&claims.taken(choice, &machine.mask()));
        claims.last += 1;
        claims.set(claims.last, &cpus, is_seen);
        (Claim { generation, number: claims.last, cpus, is_seen }, chosen)
    })
}

/// Calls `use_it` with the claims and their fork generation. If hive is about to choose CPUs, this is not while a hive
/// of another process does, unless that takes too long.
fn in_turn<R>(choice: Choice, use_it: impl FnOnce(u32, &mut Claims) -> R) -> R {
    const TRIES: u32 = 50;
    const BETWEEN_TRIES: Duration = Duration::from_micros(100);
    let mut use_it = Some(use_it);
    for tries_left in (0..TRIES).rev() {
        let result = CLAIMS.with(|generation, claims| {
            claims.have_locks();
            let locks = claims.locks.as_ref().filter(|_| choice == Choice::ByHive);
            let turn = locks.map(CpuLocks::take_turn);
            let is_taken = matches!(turn, Some(None));
            if is_taken && tries_left > 0 { None } else { use_it.take().map(|use_it| use_it(generation, claims)) }
        });
        if let Some(result) = result {
            return result;
        }
        thread::sleep(BETWEEN_TRIES);
    }
    unreachable!("the last try does it")
}

/// The CPUs that a hive has claimed. Dropping it gives them back.
#[must_use = "the CPUs are given back when this is dropped"]
#[derive(Debug)]
pub(crate) struct Claim {
    /// The fork generation that the claim was made in. In a forked child the claim has no effect.
    generation: u32,
    /// Its number among the claims of its process.
    number: u64,
    cpus: CpuMask,
    /// Whether other processes see it.
    is_seen: bool,
}

impl Claim {
    /// Claims those of the CPUs, which are this machine's, that no hive has claimed yet, for a worker that the hive has
    /// grown by. Returns which these are; the hive may have had others before. `choice`: who has chosen the CPUs. From
    /// now on other processes see all of the claim, unless `choice` is `Unseen` and they have not seen it before.
    pub(crate) fn extend(&mut self, cpus: &CpuMask, choice: Choice) -> CpuMask {
        let is_seen = self.is_seen || choice.is_seen();
        if self.has(cpus) && is_seen == self.is_seen {
            return CpuMask::new();
        }
        self.is_seen = is_seen;
        in_turn(choice, |generation, claims| {
            if generation != self.generation {
                return CpuMask::new();
            }
            let free = cpus.difference(&claims.taken(choice, cpus));
            self.cpus = self.cpus.union(&free);
            claims.set(self.number, &self.cpus, is_seen);
            free
        })
    }

    /// Gives back CPUs that `extend` has returned, if the bee could not be bound to them. In a forked child it does
    /// nothing.
    pub(crate) fn give_back(&mut self, cpus: &CpuMask) {
        CLAIMS.with(|generation, claims| {
            if generation != self.generation {
                return;
            }
            self.cpus = self.cpus.difference(cpus);
            claims.set(self.number, &self.cpus, self.is_seen);
        });
    }

    /// Whether the hive has all of the CPUs.
    pub(crate) fn has(&self, cpus: &CpuMask) -> bool {
        cpus.is_subset(&self.cpus)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMS.with(|generation, claims| {
            if generation != self.generation {
                return;
            }
            claims.change(|of_hives| _ = of_hives.remove(&self.number));
            // A thread in a sandbox can neither release the locks nor close their file. So it stays the file of this
            // process: for a thread that opened it anew, the locks would be those of another process.
            if claims.of_hives.is_empty() && claims.locks.as_ref().is_some_and(CpuLocks::are_usable) {
                claims.locks = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::{FLAT, RawCpu};

    /// A set of CPUs that no machine has, nor another process that runs these tests, with numbers from 0 to 99. Each
    /// test uses others.
    fn mask(text: &str) -> CpuMask {
        text.parse::<CpuMask>()
            .unwrap()
            .iter()
            .map(|number| 2_000_000 + 100 * std::process::id() as usize + number)
            .collect()
    }

    /// Claims CPUs that the user has chosen.
    fn claim<T>(choose: impl FnOnce(&CpuMask) -> (CpuMask, T)) -> (Claim, T) {
        claim_by(Choice::ByUser, &mask("0"), choose)
    }

    /// Claims CPUs of a machine that has these CPUs.
    fn claim_by<T>(choice: Choice, cpus: &CpuMask, choose: impl FnOnce(&CpuMask) -> (CpuMask, T)) -> (Claim, T) {
        let cpu = |os_index| RawCpu { os_index, keys: [os_index as u64, 0, 0, 0], slowness: 0 };
        super::claim(&Machine::new(cpus.iter().map(cpu), FLAT, false), choice, choose)
    }

    /// The CPUs among these that are claimed.
    fn taken(among: &CpuMask) -> CpuMask {
        CLAIMS.with(|_, claims| claims.claimed()).intersection(among)
    }

    #[test]
    fn a_claim_lasts_as_long_as_its_guard() {
        let (all, own) = (mask("0-9"), mask("0-3"));
        let (first, seen) = claim(|taken| (own.clone(), taken.intersection(&all)));
        assert_eq!(seen, CpuMask::new());
        // The second claim shares CPU 3 with the first: the user may list one CPU for two hives.
        let (mut second, seen) = claim(|taken| (mask("3-5"), taken.intersection(&all)));
        assert_eq!(seen, own);
        assert_eq!(taken(&all), mask("0-5"));
        assert_eq!(second.extend(&mask("0,5-7"), Choice::ByUser), mask("6-7"));
        assert!(second.has(&mask("5-7")) && !second.has(&mask("0,5")));
        assert_eq!(taken(&all), mask("0-7"));
        second.give_back(&mask("7"));
        assert_eq!(taken(&all), mask("0-6"));
        assert!(!second.has(&mask("7")));
        drop(first);
        assert_eq!(taken(&all), mask("3-6"));
        drop(second);
        assert_eq!(taken(&all), CpuMask::new());
    }

    #[test]
    fn a_panic_while_choosing_claims_nothing() {
        let all = mask("10-19");
        let choosing = std::panic::catch_unwind(|| drop(claim(|_| -> (CpuMask, ()) { panic!("as expected") })));
        assert!(choosing.is_err());
        let (_claim, ()) = claim(|_| (mask("10"), ()));
        assert_eq!(taken(&all), mask("10"));
    }

    #[test]
    fn a_claim_of_another_process_is_let_be() {
        let all = mask("20-29");
        let (_own, ()) = claim(|_| (mask("20"), ()));
        // A forked child has such a claim: it is of another generation.
        let mut inherited = Claim { generation: u32::MAX, number: 1, cpus: mask("20"), is_seen: true };
        assert_eq!(inherited.extend(&mask("21"), Choice::ByUser), CpuMask::new());
        inherited.give_back(&mask("20"));
        drop(inherited);
        assert_eq!(taken(&all), mask("20"));
    }

    /// What another process would find: its locks are of another file.
    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    fn claims_and_those_of_other_processes_are_seen() {
        let others = CpuLocks::open().expect("the file is there");
        let all = mask("30-39");
        let seen = || others.locked_by_others(&all);
        let taken_anywhere = |choice| claim_by(choice, &all, |taken| (mask(""), taken.intersection(&all))).1;
        others.change(&mask(""), &mask("33,35"));
        assert_eq!(taken_anywhere(Choice::ByHive), mask("33,35"));
        assert_eq!(taken_anywhere(Choice::ByUser), mask(""), "what the user asks for is done");
        let (mut of_queen, ()) = claim_by(Choice::Unseen, &all, |_| (mask("30"), ()));
        assert_eq!(seen(), mask(""), "it binds nobody");
        let (mut of_two, ()) = claim(|_| (mask("31-32"), ()));
        assert_eq!(seen(), mask("31-32"));
        assert_eq!(of_two.extend(&mask("33"), Choice::ByUser), mask("33"));
        assert_eq!(of_queen.extend(&mask("34-35"), Choice::ByHive), mask("34"), "another process has one of them");
        assert_eq!(seen(), mask("30-34"), "it has a worker now");
        of_queen.give_back(&mask("34"));
        drop(of_two);
        assert_eq!(seen(), mask("30"));
        drop(of_queen);
        assert_eq!((seen(), taken(&all)), (mask(""), mask("")));
    }
}
