//! The order in which bees get CPUs, and therefore which CPUs a shrinking hive gives up first.
//!
//! `place_policy.rs` takes the order from [`cpus_in_order`] whenever the user has not listed CPUs or places. The orders
//! are compared, with pictures, in `docs/places.md`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::parse_error::{ParseError, ParseErrorKind, parse_word, word_of};
use crate::topology::machine::{Cpu, Machine, PlaceUnit};

/// Which places a hive gives up when it shrinks; in the environment `HIVE_SHRINK`.
///
/// A hive of `n` bees has the places of bees 0 to `n - 1`, and so has a region of `n` bees in a larger hive. Therefore
/// this is the order in which bees get places: it decides which places a small team has as well as which ones a
/// shrinking hive leaves to other programs. In each order fast cores come before slow ones, and second hardware threads
/// come last.
///
/// The order has an effect only if hive itself orders the places. It has none if the program lists CPUs or places, or
/// with [`ProcBind::Close`](crate::topology::proc_bind::ProcBind::Close), `Spread` and `Primary`.
///
/// ```
/// # use hive::Shrink;
/// assert_eq!("keep_nodes".parse(), Ok(Shrink::KeepNodes));
/// assert_eq!(Shrink::KeepNodes.to_string(), "keep_nodes");
/// assert_eq!(Shrink::default(), Shrink::Compact);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shrink {
    /// `compact`: bees fill a cluster, then the next one, node by node. A hive that shrinks gives up whole clusters,
    /// then whole nodes. This is the default: a small team is close together, which makes regions and barriers cheap,
    /// and what is given up is in one piece, which is of most use to other programs.
    #[default]
    Compact,
    /// `spread`: bees are dealt round the packages, within each package round its nodes, and within each node round its
    /// clusters. The bees that are left after shrinking have the most cache and memory bandwidth each, and are the
    /// furthest from one another.
    Spread,
    /// `keep_nodes`: bees are dealt round the packages and, within each package, round its nodes; in each node they
    /// fill one cluster after another. A hive that shrinks keeps all nodes in use, so bees stay where their data is,
    /// and gives up whole clusters within the nodes.
    KeepNodes,
}

impl Shrink {
    /// The words for the orders, in the environment and in reports.
    const WORDS: [(Self, &str); 3] =
        [(Self::Compact, "compact"), (Self::Spread, "spread"), (Self::KeepNodes, "keep_nodes")];

    /// The kinds of units that bees are dealt round, from the largest to the smallest.
    fn units(self) -> &'static [PlaceUnit] {
        match self {
            Self::Compact => &[],
            Self::Spread => &[PlaceUnit::Sockets, PlaceUnit::NumaDomains, PlaceUnit::LlCaches],
            Self::KeepNodes => &[PlaceUnit::Sockets, PlaceUnit::NumaDomains],
        }
    }
}

/// Writes the word that [`FromStr`] reads.
impl fmt::Display for Shrink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&Self::WORDS, self))
    }
}

/// Reads `compact`, `spread` or `keep_nodes`.
impl FromStr for Shrink {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let problem = "is not an order to give up places in; expected compact, spread or keep_nodes";
        parse_word(&Self::WORDS, text, ParseErrorKind::Shrink, problem)
    }
}

/// The CPUs of the machine that are not in `taken`, in the order in which bees get them:
///
/// - first the CPUs on cores that have given out no CPU yet, then those on cores that have given out one, and so on;
///   CPUs in `taken` count as given out;
/// - of these, the CPUs of faster cores first;
/// - of these, in the order that `shrink` says.
///
/// Slow cores come before second hardware threads, because a bee on a second thread slows down the bee on the first
/// one, and a bee on a slow core disturbs no other bee.
pub(crate) fn cpus_in_order<'m>(machine: &'m Machine, taken: &CpuMask, shrink: Shrink) -> Vec<&'m Cpu> {
    let is_taken = |cpu: &&Cpu| taken.contains(&cpu.os_index);
    // How many CPUs of each core have been given out: at first, those that are taken.
    let mut threads_on_core = vec![0_usize; machine.unit_count(PlaceUnit::Cores)];
    for cpu in machine.cpus.iter().filter(is_taken) {
        threads_on_core[cpu.unit_number(PlaceUnit::Cores)] += 1;
    }
    // The CPUs that are equally good, by how good they are. The map is sorted by its keys: the best ones come first.
    let mut by_preference = BTreeMap::<_, Vec<_>>::new();
    for cpu in machine.cpus.iter().filter(|cpu| !is_taken(cpu)) {
        let on_core = &mut threads_on_core[cpu.unit_number(PlaceUnit::Cores)];
        by_preference.entry((*on_core, cpu.slowness)).or_default().push(cpu);
        *on_core += 1;
    }
    by_preference.values().flat_map(|cpus| round_robin(cpus, shrink.units())).collect()
}

/// Deals the CPUs out round by round: in each round it takes one CPU of each unit of the kind `units[0]`. The CPUs of
/// one unit come in the order that the other kinds of `units` give them in the same way.
fn round_robin<'m>(cpus: &[&'m Cpu], units: &[PlaceUnit]) -> Vec<&'m Cpu> {
    // Nothing is left to deal round: keep the order of the machine.
    let Some((&unit, inner)) = units.split_first() else { return cpus.to_vec() };
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for &cpu in cpus {
        groups.entry(cpu.unit_number(unit)).or_default().push(cpu);
    }
    let groups: Vec<_> = groups.values().map(|group| round_robin(group, inner)).collect();
    let rounds = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds).flat_map(|round| groups.iter().filter_map(move |group| group.get(round).copied())).collect()
}
