//! The machine's CPUs and what they share.

use std::collections::{BTreeSet, HashMap};

use crate::sys::cpu_mask::CpuMask;

/// One CPU that this process may use, and which units it belongs to. Units are numbered from 0 among those this process may
/// use, in the order of their first CPU, so that the numbers index an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// The operating system's number, as in an affinity mask.
    pub(crate) os_index: usize,
    pub(crate) core: usize,
    /// The CPUs that share the last cache level.
    pub(crate) cluster: usize,
    /// NUMA node.
    pub(crate) node: usize,
    pub(crate) package: usize,
    /// 0: the first hardware thread of its core that this process may use.
    pub(crate) smt_index: usize,
    /// 0: of the fastest kind of core that this process may use, 1: of the next kind, and so on. All 0 where kinds are not known.
    pub(crate) slowness: usize,
}

impl Cpu {
    /// The number of the unit of this kind that the CPU belongs to.
    pub(crate) fn unit_number(&self, unit: Unit) -> usize {
        match unit {
            Unit::Core => self.core,
            Unit::Cluster => self.cluster,
            Unit::Node => self.node,
            Unit::Package => self.package,
        }
    }
}

/// What CPUs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Core,
    Cluster,
    Node,
    Package,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Core => "core",
            Unit::Cluster => "cluster",
            Unit::Node => "node",
            Unit::Package => "package",
        }
    }
}

/// A CPU as its source describes it: keys may be any numbers that are equal exactly for CPUs of the same unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawCpu {
    pub(crate) os_index: usize,
    pub(crate) core: u64,
    pub(crate) cluster: u64,
    pub(crate) node: u64,
    pub(crate) package: u64,
    /// Greater for slower kinds of cores; 0 where kinds are not known.
    pub(crate) slowness: u64,
}

/// Who described the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TopologySource {
    /// hwloc, of this API version.
    #[cfg_attr(not(feature = "hwloc"), expect(dead_code, reason = "a flat build has no other source"))]
    Hwloc { version: String },
    /// A flat list: what the CPUs share is not known.
    Flat,
}

/// The CPUs that this process may use; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    cpus: Vec<Cpu>,
    source: TopologySource,
    is_foreign: bool,
}

impl Machine {
    /// The CPUs in the order given, their units renumbered. `is_foreign`: see [`Machine::is_foreign`].
    pub(crate) fn new(raw: impl IntoIterator<Item = RawCpu>, source: TopologySource, foreign: bool) -> Self {
        let (mut cores, mut clusters) = (Numbering::default(), Numbering::default());
        let (mut nodes, mut packages) = (Numbering::default(), Numbering::default());
        let mut threads_per_core = HashMap::new();
        let raw: Vec<_> = raw.into_iter().collect();
        let kinds: BTreeSet<_> = raw.iter().map(|raw| raw.slowness).collect();
        let cpus: Vec<_> = raw
            .into_iter()
            .map(|raw| {
                let thread_count = threads_per_core.entry(raw.core).or_insert(0);
                let smt_index = *thread_count;
                *thread_count += 1;
                Cpu {
                    os_index: raw.os_index,
                    core: cores.number_of(raw.core),
                    cluster: clusters.number_of(raw.cluster),
                    node: nodes.number_of(raw.node),
                    package: packages.number_of(raw.package),
                    smt_index,
                    slowness: kinds.range(..raw.slowness).count(),
                }
            })
            .collect();
        assert!(!cpus.is_empty(), "a machine without CPUs was described by {source:?}");
        Self { cpus, source, is_foreign: foreign }
    }

    /// In the order of the machine: neighbours share most.
    pub(crate) fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    pub(crate) fn source(&self) -> &TopologySource {
        &self.source
    }

    /// Whether hwloc was told to describe another machine than this one (`HWLOC_SYNTHETIC`, `HWLOC_XMLFILE`). All of the
    /// described CPUs then count as allowed, and binding to them has no effect.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// The CPU with this operating system number.
    pub(crate) fn find_cpu(&self, os_index: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.os_index == os_index)
    }

    /// The operating system numbers of all CPUs.
    pub(crate) fn mask(&self) -> CpuMask {
        self.cpus.iter().map(|cpu| cpu.os_index).collect()
    }

    /// How many units of this kind there are.
    pub(crate) fn unit_count(&self, unit: Unit) -> usize {
        self.cpus.iter().map(|cpu| cpu.unit_number(unit) + 1).max().unwrap_or(0)
    }

    /// The CPUs of each kind of core, the fastest first; one kind where kinds are not known.
    pub(crate) fn core_kinds(&self) -> Vec<CpuMask> {
        let last = self.cpus.iter().map(|cpu| cpu.slowness).max().unwrap_or(0);
        let of_kind = |slowness| self.cpus.iter().filter(move |cpu| cpu.slowness == slowness).map(|cpu| cpu.os_index);
        (0..=last).map(|slowness| of_kind(slowness).collect()).collect()
    }

    /// The CPUs of one unit.
    pub(crate) fn unit_cpus(&self, unit: Unit, number: usize) -> impl Iterator<Item = &Cpu> {
        self.cpus.iter().filter(move |cpu| cpu.unit_number(unit) == number)
    }
}

/// Numbers keys from 0 in the order in which they come up.
#[derive(Default)]
struct Numbering(HashMap<u64, usize>);

impl Numbering {
    fn number_of(&mut self, key: u64) -> usize {
        let next = self.0.len();
        *self.0.entry(key).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(os_index: usize, core: u64, cluster: u64, node: u64, package: u64) -> RawCpu {
        RawCpu { os_index, core, cluster, node, package, slowness: 0 }
    }

    #[test]
    fn numbers_units_from_zero_in_machine_order() {
        let raw = [raw(8, 70, 9, 5, 3), raw(24, 70, 9, 5, 3), raw(9, 71, 9, 5, 3), raw(0, 12, 4, 1, 1)];
        let machine = Machine::new(raw, TopologySource::Flat, false);
        let cpu = |os_index, core, cluster, node, package, smt| Cpu {
            os_index,
            core,
            cluster,
            node,
            package,
            smt_index: smt,
            slowness: 0,
        };
        let expected = [cpu(8, 0, 0, 0, 0, 0), cpu(24, 0, 0, 0, 0, 1), cpu(9, 1, 0, 0, 0, 0), cpu(0, 2, 1, 1, 1, 0)];
        assert_eq!(machine.cpus(), expected);
        assert_eq!(
            [Unit::Core, Unit::Cluster, Unit::Node, Unit::Package].map(|unit| machine.unit_count(unit)),
            [3, 2, 2, 2]
        );
        assert_eq!(machine.mask().to_string(), "0,8-9,24");
        assert_eq!(machine.find_cpu(24), Some(&expected[1]));
        assert_eq!(machine.find_cpu(1), None);
        assert!(machine.unit_cpus(Unit::Cluster, 0).eq(&expected[..3]));
    }

    #[test]
    fn numbers_kinds_of_cores_from_the_fastest_allowed_one() {
        let kinds = |slow: &[u64]| {
            let cpu = |(os_index, &slowness)| RawCpu { slowness, ..raw(os_index, os_index as u64, 0, 0, 0) };
            Machine::new(slow.iter().enumerate().map(cpu), TopologySource::Flat, false).core_kinds()
        };
        assert_eq!(kinds(&[7, 3, 3, 7, 9]), ["1-2", "0,3", "4"].map(|cpus| cpus.parse::<CpuMask>().unwrap()));
        assert_eq!(kinds(&[5, 5]), ["0-1".parse::<CpuMask>().unwrap()]);
    }

    #[test]
    #[should_panic(expected = "a machine without CPUs")]
    fn is_never_empty() {
        Machine::new([], TopologySource::Flat, false);
    }
}
