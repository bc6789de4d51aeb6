//! The list of the mutants that the models must reject: some by name, and all that follow from the atomic operations in
//! the source by rule.

use std::fmt;

use super::source::{Site, is_of_fence_pair, sites};

/// What is wrong with a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A mistake that a reader might think of. Listed by name in `LOGIC`.
    Logic,
    /// A fence is left out, or does not order a store before a load.
    Fence,
    /// An ordering is Relaxed.
    Weakened,
    /// An ordering that both acquires and releases does only one of the two.
    Halved,
    /// A read-modify-write is a load and a store.
    Torn,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Logic => "logic",
            Self::Fence => "fence",
            Self::Weakened => "weakened",
            Self::Halved => "halved",
            Self::Torn => "torn",
        })
    }
}

/// A broken variant of the protocol.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    pub(crate) kind: Kind,
    /// The name by which `HIVE_MUTANT` selects it.
    pub(crate) name: String,
    /// What is wrong, in words, where the name does not say it.
    pub(crate) description: &'static str,
    /// The reason why no model can reject it, if there is one. Such a mutant is not run.
    pub(crate) skip_reason: Option<&'static str>,
}

impl Mutant {
    fn new(kind: Kind, site: &Site, change: &str) -> Self {
        let name = format!("{}:{}#{}={change}", site.file, site.operation, site.number);
        let spared = NOT_RUN.iter().find(|(spared, _)| *spared == name).map(|&(_, reason)| reason);
        Self { kind, name, description: "", skip_reason: spared }
    }
}

/// Variants with a name. The numbers of the states are those of `slot.rs`.
const LOGIC: [(&str, &str); 14] = [
    ("start_line.rs:store#1=mask-1ffff", "a one-bit flag for an epoch"),
    ("pending_parks.rs:fetch_add#1=set", "the counter of pending parks is set instead of added to"),
    (
        "slot.rs:compare_exchange#1=blind-1-2",
        "a sleeper is woken without the swap, after a plain check that it sleeps (asleep to notified)",
    ),
    ("slot.rs:compare_exchange#1=blind-4-2", "a parked bee is woken without the swap (parked to notified)"),
    ("slot.rs:compare_exchange#1=blind-4-3", "a parked bee is woken as surplus without the swap (parked to surplus)"),
    ("slot.rs:compare_exchange#1=blind-0-1", "falling asleep without the swap (awake to asleep)"),
    ("slot.rs:compare_exchange#1=blind-1-0", "sleep is undone without the swap (asleep to awake)"),
    ("slot.rs:compare_exchange#1=blind-1-4", "a sleeper is parked without the swap (asleep to parked)"),
    ("slot.rs:compare_exchange#1=blind-0-3", "an awake bee is made surplus without the swap (awake to surplus)"),
    ("slot.rs:compare_exchange#1=blind-2-0", "a notified bee becomes awake without the swap (notified to awake)"),
    ("slot.rs:compare_exchange#1=blind-2-3", "a notified bee is made surplus without the swap (notified to surplus)"),
    ("slot.rs:compare_exchange#1=blind-3-0", "the order to park is cancelled without the swap (surplus to awake)"),
    ("slot.rs:compare_exchange#1=blind-3-4", "parking without the swap (surplus to parked)"),
    ("slot.rs:compare_exchange#1=blind-0-5", "an awake bee is terminated without the swap (awake to terminated)"),
];

/// Mutants that are as correct as the protocol itself, or whose fault loom cannot see, with the reason. They are not
/// run.
const NOT_RUN: [(&str, &str); 9] = [
    ("stop.rs:store#1=relaxed", "no model calls it: a program's own flag, by which its loops end early"),
    ("stop.rs:load#1=relaxed", "as above"),
    ("par_map.rs:fetch_add#1=torn", "no model calls it: a count of results, which the end of the loop orders"),
    (
        "barrier.rs:swap#1=torn",
        "as correct, except for what loom makes of a plain store there: see the comment on the swap",
    ),
    (
        "slot.rs:compare_exchange#1=release",
        "it orders the count of a surplus bee before its counting off, and loom makes read-modify-writes of one word \
         take effect in the order in which it runs them",
    ),
    ("pending_parks.rs:fetch_sub#1=relaxed", "redundant with the fence in `park`, which comes before it"),
    ("occupancy.rs:load#1=relaxed", "redundant with the fence in `start`, before which a team's size is read"),
    (
        "loop_state.rs:load#2=relaxed",
        "no model shows what it orders, and finding that out takes four minutes; the same mutant of the load in the \
         loop below it, load#4, is rejected, and so is that of the store with which both pair",
    ),
    (
        "jec.rs:fetch_sub#3=torn",
        "it needs two bees, a resizer and more preemptions than there is time for; the others of its kind are rejected",
    ),
];

/// Returns all mutants, those of `LOGIC` first.
pub(crate) fn all() -> Vec<Mutant> {
    let named = LOGIC.iter().map(|&(name, words)| Mutant {
        kind: Kind::Logic,
        name: name.to_owned(),
        description: words,
        skip_reason: None,
    });
    let mut mutants: Vec<_> = named.chain(sites().iter().flat_map(of_site)).collect();
    mutants.sort_by_key(|mutant| mutant.kind);
    mutants
}

/// The lines of `NOT_RUN` whose mutant does not exist any more. (One of `LOGIC` that does not exist survives.)
pub(crate) fn stale(mutants: &[Mutant]) -> Vec<String> {
    let unknown = NOT_RUN.iter().filter(|(spared, _)| !mutants.iter().any(|mutant| mutant.name == *spared));
    unknown.map(|(spared, _)| format!("{spared} is to be spared, and is no mutant")).collect()
}

fn of_site(site: &Site) -> Vec<Mutant> {
    if is_of_fence_pair(site.operation) {
        return vec![Mutant::new(Kind::Fence, site, "skip")];
    }
    if site.operation == "fence" {
        return ["skip", "acqrel"].map(|change| Mutant::new(Kind::Fence, site, change)).into();
    }
    let mut mutants = Vec::new();
    for (which, ordering) in ["", "failure-"].iter().zip(&site.orderings) {
        if ordering != "Relaxed" {
            mutants.push(Mutant::new(Kind::Weakened, site, &format!("{which}relaxed")));
        }
        if ordering == "AcqRel" {
            mutants
                .extend(["acquire", "release"].map(|half| Mutant::new(Kind::Halved, site, &format!("{which}{half}"))));
        }
    }
    if !matches!(site.operation, "load" | "store") {
        mutants.push(Mutant::new(Kind::Torn, site, "torn"));
    }
    mutants
}
