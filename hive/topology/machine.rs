//! The machine as plain data: the CPUs that this process may use, and the cores, caches, NUMA nodes and packages that
//! they share.
//!
//! `hwloc.rs`, `sysfs.rs` or `read_flat` in `mod.rs` describes each CPU as a [`RawCpu`], and [`Machine::new`] builds a
//! [`Machine`] from these. All other files of this folder work with the [`Machine`], so they do not depend on where the
//! description came from.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::parse_error::word_of;

/// One CPU that this process may use, with the number of each unit that it belongs to. The units of one kind are
/// numbered from 0 in the order of their first CPU, and only units with a CPU that this process may use are counted, so
/// the numbers can be used as indices of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// The operating system's number of the CPU, as in an affinity mask.
    pub(crate) os_index: usize,
    /// The number of the unit of each kind that it belongs to, in the order of [`PlaceUnit`]. As a hardware thread it
    /// has its position in the machine.
    units: [usize; UNITS],
    /// The rank of the CPU's kind of core, among the kinds that this process may use: 0 is the fastest kind, 1 the next
    /// one, and so on. It is 0 for every CPU if the kinds are not known.
    pub(crate) slowness: usize,
}

impl Cpu {
    /// The number of the unit of the kind `unit` that the CPU belongs to.
    pub(crate) fn unit_number(&self, unit: PlaceUnit) -> usize {
        self.units[unit as usize]
    }
}

/// What each place of a [`PlaceList`](crate::topology::place_list::PlaceList) is, if the places are named by a word: a
/// kind of unit of the machine.
///
/// ```
/// # use hive::{PlaceList, PlaceUnit};
/// assert_eq!(PlaceUnit::LlCaches.to_string(), "ll_caches");
/// assert_eq!("ll_caches".parse(), Ok(PlaceList::Named { each: PlaceUnit::LlCaches, count: None }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaceUnit {
    /// `threads`: a hardware thread.
    Threads,
    /// `cores`: a physical core with all its hardware threads.
    Cores,
    /// `ll_caches`: the CPUs that share one last-level cache, as with
    /// [`Pin::Cluster`](crate::topology::pin_policy::Pin::Cluster).
    LlCaches,
    /// `numa_domains`: the CPUs of one NUMA node.
    NumaDomains,
    /// `sockets`: the CPUs of one package (socket).
    Sockets,
}

impl PlaceUnit {
    /// All kinds, in their order.
    pub(crate) const ALL: [Self; UNITS] =
        [Self::Threads, Self::Cores, Self::LlCaches, Self::NumaDomains, Self::Sockets];

    /// The words for the units in a list of places.
    pub(crate) const WORDS: [(Self, &str); UNITS] = [
        (Self::Threads, "threads"),
        (Self::Cores, "cores"),
        (Self::LlCaches, "ll_caches"),
        (Self::NumaDomains, "numa_domains"),
        (Self::Sockets, "sockets"),
    ];

    /// The name of one unit in reports and messages.
    pub(crate) fn name(self) -> &'static str {
        const NAMES: [&str; UNITS] = ["CPU", "core", "cluster", "node", "package"];
        NAMES[self as usize]
    }
}

/// How many kinds there are.
pub(crate) const UNITS: usize = PlaceUnit::Sockets as usize + 1;

/// Writes the word that stands for the unit in a list of places.
impl fmt::Display for PlaceUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&Self::WORDS, self))
    }
}

/// A CPU as one of the readers describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawCpu {
    pub(crate) os_index: usize,
    /// Keys of its core, cluster, node and package: any numbers that are equal for two CPUs exactly if the CPUs belong
    /// to the same unit. [`Machine::new`] replaces them by numbers that count from 0.
    pub(crate) keys: [u64; UNITS - 1],
    /// A number that is greater for slower kinds of cores; 0 for every CPU if the kinds are not known.
    pub(crate) slowness: u64,
}

/// How many of the `kinds` of cores are faster than the kind of this CPU, where the slowest kind comes first. A CPU of
/// which nothing is known counts as one of the fastest.
#[cfg(any(target_os = "linux", feature = "hwloc"))]
pub(crate) fn slowness(kinds: &[CpuMask], cpu: usize) -> u64 {
    kinds.iter().rev().position(|kind| kind.contains(&cpu)).unwrap_or(0) as u64
}

/// The source of a machine of which nothing but a list of CPUs is known.
pub(crate) const FLAT: &str = "a flat list: what they share is not known";

/// The CPUs that this process may use, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// All of them, in the order of the machine: CPUs that are next to each other share the most.
    pub(crate) cpus: Vec<Cpu>,
    /// Where the description came from, for the report.
    pub(crate) source: String,
    /// Whether the user made hwloc describe another machine than the one that the process runs on (`HWLOC_SYNTHETIC`,
    /// `HWLOC_XMLFILE`). In that case all CPUs of the described machine count as allowed, and binding a thread to them
    /// has no effect.
    pub(crate) is_foreign: bool,
}

impl Machine {
    /// A machine of the CPUs `raw`, in that order, with their units numbered anew. For `foreign` see
    /// [`Machine::is_foreign`].
    ///
    /// # Panics
    /// If there is no CPU.
    pub(crate) fn new(raw: impl IntoIterator<Item = RawCpu>, source: &str, foreign: bool) -> Self {
        // For each kind, the numbers of the keys. A key that has not been seen before gets the next free number.
        let mut numbers: [HashMap<u64, usize>; UNITS - 1] = Default::default();
        let mut number = |unit: usize, key| {
            let next = numbers[unit].len();
            *numbers[unit].entry(key).or_insert(next)
        };
        let raw: Vec<_> = raw.into_iter().collect();
        let kinds: BTreeSet<_> = raw.iter().map(|raw| raw.slowness).collect();
        let cpus: Vec<_> = raw
            .into_iter()
            .enumerate()
            .map(|(position, RawCpu { os_index, keys: [core, cluster, node, package], slowness })| Cpu {
                os_index,
                units: [position, number(0, core), number(1, cluster), number(2, node), number(3, package)],
                // How many of the kinds that are present are faster.
                slowness: kinds.range(..slowness).count(),
            })
            .collect();
        assert!(!cpus.is_empty(), "a machine without CPUs, {source}");
        Self { cpus, source: source.to_owned(), is_foreign: foreign }
    }

    /// The set of all CPUs, by the operating system's numbers.
    pub(crate) fn mask(&self) -> CpuMask {
        self.cpus.iter().map(|cpu| cpu.os_index).collect()
    }

    /// The number of units of the kind `unit`.
    pub(crate) fn unit_count(&self, unit: PlaceUnit) -> usize {
        // Units are numbered from 0 without gaps, so the highest number says how many there are.
        self.cpus.iter().map(|cpu| cpu.unit_number(unit) + 1).max().unwrap_or(0)
    }

    /// The CPUs of each kind of core, the fastest kind first. If the kinds are not known, all CPUs are of one kind.
    pub(crate) fn core_kinds(&self) -> Vec<CpuMask> {
        let last = self.cpus.iter().map(|cpu| cpu.slowness).max().unwrap_or(0);
        let of_kind = |slowness| self.cpus.iter().filter(move |cpu| cpu.slowness == slowness).map(|cpu| cpu.os_index);
        (0..=last).map(|slowness| of_kind(slowness).collect()).collect()
    }

    /// The CPUs of the unit `number` of the kind `unit`.
    pub(crate) fn unit_cpus(&self, unit: PlaceUnit, number: usize) -> CpuMask {
        self.cpus.iter().filter(|cpu| cpu.unit_number(unit) == number).map(|cpu| cpu.os_index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(os_index: usize, keys: [u64; UNITS - 1]) -> RawCpu {
        RawCpu { os_index, keys, slowness: 0 }
    }

    #[test]
    fn numbers_units_from_zero_in_machine_order() {
        let raw = [raw(8, [70, 9, 5, 3]), raw(24, [70, 9, 5, 3]), raw(9, [71, 9, 5, 3]), raw(0, [12, 4, 1, 1])];
        let machine = Machine::new(raw, FLAT, false);
        let cpu = |os_index, units| Cpu { os_index, units, slowness: 0 };
        let expected =
            [cpu(8, [0, 0, 0, 0, 0]), cpu(24, [1, 0, 0, 0, 0]), cpu(9, [2, 1, 0, 0, 0]), cpu(0, [3, 2, 1, 1, 1])];
        assert_eq!(machine.cpus, expected);
        assert_eq!(PlaceUnit::ALL.map(|unit| machine.unit_count(unit)), [4, 3, 2, 2, 2]);
        assert_eq!(machine.mask().to_string(), "0,8-9,24");
        assert_eq!(machine.unit_cpus(PlaceUnit::LlCaches, 0).to_string(), "8-9,24");
    }

    #[test]
    fn numbers_kinds_of_cores_from_the_fastest_allowed_one() {
        let kinds = |slow: &[u64]| {
            let cpu = |(os_index, &slowness)| RawCpu { slowness, ..raw(os_index, [os_index as u64, 0, 0, 0]) };
            Machine::new(slow.iter().enumerate().map(cpu), FLAT, false).core_kinds()
        };
        assert_eq!(kinds(&[7, 3, 3, 7, 9]), ["1-2", "0,3", "4"].map(|cpus| cpus.parse::<CpuMask>().unwrap()));
        assert_eq!(kinds(&[5, 5]), ["0-1".parse::<CpuMask>().unwrap()]);
    }

    #[test]
    #[should_panic(expected = "a machine without CPUs")]
    fn is_never_empty() {
        Machine::new([], FLAT, false);
    }
}
