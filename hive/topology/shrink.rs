//! In which order bees get the CPUs, and so which of them a shrinking hive gives up first.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::sys::cpu_mask::CpuMask;
use crate::topology::machine::{Cpu, Machine, Unit};
use crate::topology::pin_policy::ParsePolicyError;

/// Which places a hive gives up when it shrinks; in the environment `HIVE_SHRINK`.
///
/// A hive of `n` bees, and a region of `n` bees in a larger hive, has the places of bees 0 to `n - 1`. So this is the
/// order in which bees get places: it says what a small team has as well as what a shrinking hive leaves to others. In each
/// order fast cores come before slow ones, and second hardware threads last. It holds where hive itself orders the places: not
/// for lists of CPUs or of places, and not with [`ProcBind::Close`](crate::topology::proc_bind::ProcBind::Close), `Spread` and `Primary`.
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
    /// `compact`: bees fill a cluster, then the next one, node by node. A hive that shrinks gives up whole clusters, then whole
    /// nodes. The default: bees that are few are near one another, which is what regions and barriers live on, and what is
    /// given up is of most use to others.
    #[default]
    Compact,
    /// `spread_order`: bees are dealt round the packages, in each round its nodes, and in each round their clusters. Bees that are
    /// left have most cache and memory bandwidth each, and are furthest from one another.
    Spread,
    /// `keep_nodes`: bees are dealt round the packages and their nodes, and fill one cluster of a node after another. A hive
    /// that shrinks keeps all nodes in use, so that bees stay where their data is, and gives up whole clusters within them.
    KeepNodes,
}

impl Shrink {
    const ALL: [Self; 3] = [Self::Compact, Self::Spread, Self::KeepNodes];

    fn keyword(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Spread => "spread",
            Self::KeepNodes => "keep_nodes",
        }
    }

    /// CPUs that are as good as one another, in the order in which they are given out.
    fn order_equals<'m>(self, cpus: &[&'m Cpu]) -> Vec<&'m Cpu> {
        match self {
            Self::Compact => cpus.to_vec(),
            Self::Spread => round_robin(cpus, &[Unit::Package, Unit::Node, Unit::Cluster]),
            Self::KeepNodes => round_robin(cpus, &[Unit::Package, Unit::Node]),
        }
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Shrink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.keyword())
    }
}

/// Reads `compact`, `spread_order` or `keep_nodes`.
impl FromStr for Shrink {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let named = Self::ALL.into_iter().find(|shrink| shrink.keyword().eq_ignore_ascii_case(text.trim()));
        named.ok_or_else(|| {
            ParsePolicyError::new(text, "an order to give up places in", "compact, spread or keep_nodes")
        })
    }
}

/// The CPUs that are not taken, in the order in which bees get them: first those on whose core nobody is yet, then those
/// with one neighbour on it, and so on; of these the fast ones first; else as `shrink` says.
///
/// Slow cores come before second threads: a second thread slows down the bee that has the first one, and a slow core nobody.
pub(crate) fn cpus_in_order<'m>(machine: &'m Machine, taken: &CpuMask, shrink: Shrink) -> Vec<&'m Cpu> {
    let is_taken = |cpu: &&Cpu| taken.contains(cpu.os_index);
    let mut threads_on_core = vec![0_usize; machine.unit_count(Unit::Core)];
    for cpu in machine.cpus().iter().filter(is_taken) {
        threads_on_core[cpu.core] += 1;
    }
    let mut by_preference = BTreeMap::<_, Vec<_>>::new();
    for cpu in machine.cpus().iter().filter(|cpu| !is_taken(cpu)) {
        by_preference.entry((threads_on_core[cpu.core], cpu.slowness)).or_default().push(cpu);
        threads_on_core[cpu.core] += 1;
    }
    by_preference.values().flat_map(|cpus| shrink.order_equals(cpus)).collect()
}

/// One CPU from each of the first kind of unit, round by round; those of one such unit are dealt among the next kinds likewise.
fn round_robin<'m>(cpus: &[&'m Cpu], units: &[Unit]) -> Vec<&'m Cpu> {
    let Some((&unit, inner)) = units.split_first() else { return cpus.to_vec() };
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for &cpu in cpus {
        groups.entry(cpu.unit_number(unit)).or_default().push(cpu);
    }
    let groups: Vec<_> = groups.values().map(|group| round_robin(group, inner)).collect();
    let rounds = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds).flat_map(|round| groups.iter().filter_map(move |group| group.get(round).copied())).collect()
}
