//! The machine that a hive finds itself on: its CPUs, the process's mask and quota, and what could not be read.

use std::sync::Arc;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::process::ProcessLock;
use crate::topology::machine::Machine;
use crate::topology::quota::CpuQuota;
use crate::topology::{pinning, quota};

/// What a hive knows of its surroundings. It is read when the hive is built.
pub(crate) struct MachineInfo {
    pub(crate) machine: Arc<Machine>,
    /// The mask of the thread that built the hive, but for what hive bound it to; none: the system does not tell.
    pub(crate) mask: Option<CpuMask>,
    pub(crate) quota: Option<CpuQuota>,
    pub(crate) warnings: Vec<String>,
}

/// The machine as it was last read, for the mask that it was read with: reading takes milliseconds, and it hardly changes.
static LAST_READ: ProcessLock<Option<CachedMachine>> = ProcessLock::new(None);

#[derive(Clone)]
struct CachedMachine {
    mask: Option<CpuMask>,
    machine: Arc<Machine>,
    warnings: Vec<String>,
}

impl MachineInfo {
    pub(crate) fn detect() -> Self {
        let CachedMachine { machine, mask, mut warnings } = read_machine_cached();
        let (quota, quota_warnings) = quota::cpu_quota();
        warnings.extend(quota_warnings);
        Self { machine, mask, quota, warnings }
    }

    /// How many threads can always be running at once.
    pub(crate) fn usable_cpus(&self) -> usize {
        quota::usable_cpus(self.machine.cpus().len(), self.quota.as_ref())
    }
}

fn read_machine_cached() -> CachedMachine {
    let mask = pinning::original_mask().ok();
    let last = LAST_READ.with(|last| last.clone());
    last.filter(|cached| cached.mask == mask).unwrap_or_else(|| {
        let (machine, warnings) = pinning::read_machine_unpinned();
        let fresh = CachedMachine { mask, machine: Arc::new(machine), warnings };
        LAST_READ.with(|last| *last = Some(fresh.clone()));
        fresh
    })
}
