//! The machine that a hive finds itself on: its CPUs, the process's mask and quota, and what could not be read.

use std::sync::Arc;

use crate::pin;
use crate::process::ProcessLock;
use crate::topology::{self, CpuMask, Machine, Quota};

/// What a hive knows of its surroundings. It is read when the hive is built.
pub(crate) struct Habitat {
    pub(crate) machine: Arc<Machine>,
    /// The mask of the thread that built the hive, but for what hive bound it to; none: the system does not tell.
    pub(crate) mask: Option<CpuMask>,
    pub(crate) quota: Option<Quota>,
    pub(crate) warnings: Vec<String>,
}

/// The machine as it was last read, for the mask that it was read with: reading takes milliseconds, and it hardly changes.
static LAST: ProcessLock<Option<Reading>> = ProcessLock::new(None);

#[derive(Clone)]
struct Reading {
    mask: Option<CpuMask>,
    machine: Arc<Machine>,
    warnings: Vec<String>,
}

impl Habitat {
    pub(crate) fn survey() -> Self {
        let Reading { machine, mask, mut warnings } = machine();
        let (quota, quota_warnings) = topology::cpu_quota();
        warnings.extend(quota_warnings);
        Self { machine, mask, quota, warnings }
    }

    /// How many threads can always be running at once.
    pub(crate) fn usable_cpus(&self) -> usize {
        topology::usable_cpus(self.machine.cpus().len(), self.quota.as_ref())
    }
}

fn machine() -> Reading {
    let mask = pin::original_mask().ok();
    let last = LAST.with(|last| last.clone());
    last.filter(|reading| reading.mask == mask).unwrap_or_else(|| {
        let (machine, warnings) = pin::read_machine();
        let reading = Reading { mask, machine: Arc::new(machine), warnings };
        LAST.with(|last| *last = Some(reading.clone()));
        reading
    })
}
