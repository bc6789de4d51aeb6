//! What a hive knows about the machine and the process that it runs in: the CPUs, the affinity mask, the CPU quota, and
//! warnings about what could not be read.
//!
//! `Builder::build` and `HiveSetBuilder` call [`MachineInfo::detect`]. It decides the default number of bees and, in
//! `place_map.rs`, the bees' places. The machine is read again only if the mask has changed.

use std::sync::Arc;

use crate::sys::cpu_mask::CpuMask;
use crate::sys::process::ProcessLock;
use crate::topology::machine::Machine;
use crate::topology::quota::CpuQuota;
use crate::topology::{pinning, quota};

/// The machine and the limits on the process, as they were when the hive was built.
#[derive(Clone)]
pub(crate) struct MachineInfo {
    /// The CPUs that the process may use, and what they share.
    pub(crate) machine: Arc<Machine>,
    /// The affinity mask that the thread which built the hive had before hive bound it to anything. `None` if the
    /// system does not tell.
    pub(crate) mask: Option<CpuMask>,
    /// The CPU quota of the process's control groups; `None` if there is none.
    pub(crate) quota: Option<CpuQuota>,
    /// What could not be read, and what of the hive's settings has no effect. The report shows these lines.
    pub(crate) warnings: Vec<String>,
}

/// The machine as it was last read, with the mask that it was read for, and without a quota. It is kept because reading
/// takes milliseconds and the machine hardly ever changes.
static LAST_READ: ProcessLock<Option<MachineInfo>> = ProcessLock::new(None);

impl MachineInfo {
    /// Reads the machine, unless it is in the cache, and the CPU quota, which can change at any time.
    pub(crate) fn detect() -> Self {
        let mut info = read_machine_cached();
        let (quota, warnings) = quota::cpu_quota();
        info.quota = quota;
        info.warnings.extend(warnings);
        info
    }

    /// The number of threads that can always run at the same time: see [`quota::usable_cpus`].
    pub(crate) fn usable_cpus(&self) -> usize {
        quota::usable_cpus(self.machine.cpus.len(), self.quota.as_ref())
    }
}

/// The machine for the calling thread's original mask, without the quota: from the cache if that was filled for the
/// same mask, else read now.
fn read_machine_cached() -> MachineInfo {
    let mask = pinning::original_mask().ok();
    let last = LAST_READ.with(|last| last.clone());
    last.filter(|cached| cached.mask == mask).unwrap_or_else(|| {
        // The lock is not held here, because reading takes long and opens files. Two threads that build hives at the
        // same time may both read the machine; the later one's result stays.
        let (machine, warnings) = pinning::read_machine_unpinned();
        let fresh = MachineInfo { mask, machine: Arc::new(machine), quota: None, warnings };
        LAST_READ.with(|last| *last = Some(fresh.clone()));
        fresh
    })
}
