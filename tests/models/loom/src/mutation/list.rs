//! The mutants that the models must reject.

use std::fmt;

use super::source::{Site, is_of_fence_pair, sites};

/// What is wrong with a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A variant that a reader might think of, with a name of its own.
    Logic,
    /// A fence is left out, or does not order a store before a load.
    Fence,
    /// An ordering is Relaxed.
    Weakened,
    /// An ordering that both acquires and releases does one of them.
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
    /// As `HIVE_MUTANT` names it.
    pub(crate) name: String,
    /// In words, where there is more to say than the name.
    pub(crate) description: &'static str,
    /// Why no model can reject it, if so.
    pub(crate) skip_reason: Option<&'static str>,
}

impl Mutant {
    fn new(kind: Kind, site: &Site, change: &str) -> Self {
        let name = format!("{}:{}#{}={change}", site.file, site.operation, site.number);
        let spared = NOT_RUN.iter().find(|(spared, _)| *spared == name).map(|&(_, reason)| reason);
        Self { kind, name, description: "", skip_reason: spared }
    }
}

/// Variants by name. The states' numbers are those of `slot.rs`.
const LOGIC: [(&str, &str); 14] = [
    ("start_line.rs:store#1=mask-1ffff", "a one-bit flag for an epoch"),
    ("pending_parks.rs:fetch_add#1=set", "the counter of surplus bees set instead of added to"),
    (
        "slot.rs:compare_exchange#1=blind-1-2",
        "a sleeper posted without the swap, after a lock-free test whether it sleeps (asleep to notified)",
    ),
    ("slot.rs:compare_exchange#1=blind-4-2", "a parked bee posted without the swap (parked to notified)"),
    ("slot.rs:compare_exchange#1=blind-4-3", "a parked bee called without the swap (parked to surplus)"),
    ("slot.rs:compare_exchange#1=blind-0-1", "falling asleep without the swap (awake to asleep)"),
    ("slot.rs:compare_exchange#1=blind-1-0", "sleep undone without the swap (asleep to awake)"),
    ("slot.rs:compare_exchange#1=blind-1-4", "a sleeper parked without the swap (asleep to parked)"),
    ("slot.rs:compare_exchange#1=blind-0-3", "an awake bee laid off without the swap (awake to surplus)"),
    ("slot.rs:compare_exchange#1=blind-2-0", "a notified bee awake without the swap (notified to awake)"),
    ("slot.rs:compare_exchange#1=blind-2-3", "a notified bee laid off without the swap (notified to surplus)"),
    ("slot.rs:compare_exchange#1=blind-3-0", "the order to park cancelled without the swap (surplus to awake)"),
    ("slot.rs:compare_exchange#1=blind-3-4", "parking without the swap (surplus to parked)"),
    ("slot.rs:compare_exchange#1=blind-0-5", "an awake bee dismissed without the swap (awake to dismissed)"),
];

/// Of what orders that words are made as new before they are used again.
const REUSED_WORDS_REASON: &str = "words are changed by swaps, and loom has changes of one word in the order in which it runs them, so a set made as new is seen so";

/// Mutants that are as correct as the protocol itself, or whose fault loom does not see, with the reason.
///
/// They are not run.
const NOT_RUN: [(&str, &str); 17] = [
    ("barrier.rs:swap#1=torn", "as correct, but for what loom makes of a plain store there: see its comment"),
    (
        "slot.rs:compare_exchange#1=release",
        "that a surplus bee is counted before it can be counted off hangs on it, and loom has changes of one word in the order in which it runs them",
    ),
    ("pending_parks.rs:fetch_sub#1=relaxed", "redundant with the fence in `park`, which comes before it"),
    ("occupancy.rs:load#1=relaxed", "redundant with the fence in `start`, which a team's size is read before"),
    (
        "loop_state.rs:load#1=relaxed",
        "no model shows what it orders, and to find that out takes four minutes; the same look in the loop below it, load#3, is rejected, and so is the store that both pair with",
    ),
    ("buffer_pool.rs:store#1=relaxed", REUSED_WORDS_REASON),
    ("buffer_pool.rs:fetch_add#1=relaxed", REUSED_WORDS_REASON),
    ("buffer_pool.rs:fetch_add#1=acquire", REUSED_WORDS_REASON),
    ("buffer_pool.rs:fetch_add#1=release", REUSED_WORDS_REASON),
    ("buffer_pool.rs:load#1=relaxed", REUSED_WORDS_REASON),
    ("buffer_pool.rs:compare_exchange#1=relaxed", REUSED_WORDS_REASON),
    ("buffer_pool.rs:compare_exchange#1=failure-relaxed", REUSED_WORDS_REASON),
    ("buffer_pool.rs:store#4=relaxed", REUSED_WORDS_REASON),
    ("buffer_pool.rs:swap#1=relaxed", REUSED_WORDS_REASON),
    (
        "buffer_pool.rs:fetch_add#1=torn",
        "a lost count leaves a set of words unused: memory, and nothing that is run twice or not at all",
    ),
    (
        "jec_counters.rs:fetch_sub#3=torn",
        "wants two bees, a resizer and more preemptions than there is time for; the others of its kind are rejected",
    ),
    (
        "leader_lock.rs:store#2=relaxed",
        "the light fence before it releases too, here; a real one does only when it meets a heavy one",
    ),
];

/// All mutants, those with names first.
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
