//! A CPU of the machine that is asked about.

use crate::system::distance::Distance;

/// One hardware thread: the operating system's number, and which units it belongs to. Any numbers, equal for CPUs of
/// the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpu {
    pub(super) os_index: usize,
    pub(super) core: u64,
    /// Those that share the last cache level.
    pub(super) cluster: u64,
    pub(super) node: u64,
    pub(super) package: u64,
}

impl Cpu {
    pub(super) fn distance_to(&self, other: &Self) -> Distance {
        let shared = |of: fn(&Self) -> u64| of(self) == of(other);
        Distance::of_shared([
            shared(|cpu| cpu.core),
            shared(|cpu| cpu.cluster),
            shared(|cpu| cpu.node),
            shared(|cpu| cpu.package),
        ])
    }
}
