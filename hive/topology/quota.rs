//! The CPU quota: how much CPU time the control groups of this process let it use, counted in CPUs.
//!
//! `MachineInfo::detect` reads the quota, and [`usable_cpus`] derives from it the number of bees that a hive has by
//! default. `sys/cgroups.rs` finds the directories of the process's groups; files in each of these directories have the
//! group's quota. All files are read through a function that is passed to `read_quota`, so the tests need no real
//! control groups.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::sys::cgroups::{CgroupReader, CgroupVersion};
use crate::sys::kernel_file;

/// A limit on the CPU time of this process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CpuQuota {
    /// How many CPUs the process can keep busy all the time; may be a fraction.
    pub(crate) cpus: f64,
    /// The file that the limit was read from.
    pub(crate) file: PathBuf,
}

/// For the report, such as "1.5 CPUs (/sys/fs/cgroup/cpu.max)".
impl fmt::Display for CpuQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} CPUs ({})", self.cpus, self.file.display())
    }
}

/// The smallest CPU quota among those of this process's control groups and of all groups above them, or `None` if none
/// of them has a quota. Also returns a warning for each file or line that could not be understood. Systems other than
/// Linux and Android have no control groups, nor the files that list them.
pub(crate) fn cpu_quota() -> (Option<CpuQuota>, Vec<String>) {
    read_quota(|path| kernel_file::read(path))
}

/// The number of threads that can always run at the same time: the quota in whole CPUs, at most the number of allowed
/// CPUs, and at least 1.
pub(crate) fn usable_cpus(allowed_cpus: usize, quota: Option<&CpuQuota>) -> usize {
    // The quota is rounded down. With one thread more than the quota pays for, the kernel would stop all threads once
    // in every period, in the middle of a region. The cast saturates, and turns not-a-number into 0.
    let whole_cpus = quota.map_or(usize::MAX, |quota| quota.cpus.floor() as usize);
    whole_cpus.min(allowed_cpus).max(1)
}

/// The smallest quota of the process's groups and of all groups above them, with warnings about what could not be read
/// or understood. `read_file` returns the contents of a file.
fn read_quota(read_file: impl Fn(&Path) -> io::Result<Vec<u8>>) -> (Option<CpuQuota>, Vec<String>) {
    let mut reader = CgroupReader { read_file: &read_file, warnings: Vec::new() };
    let directories = reader.directories("cpu", CFS_QUOTA_FILE);
    let quotas = directories.iter().filter_map(|(version, directory)| read_group(&mut reader, *version, directory));
    (quotas.min_by(|one, other| one.cpus.total_cmp(&other.cpus)), reader.warnings)
}

/// The file with the quota of a group of version 1.
const CFS_QUOTA_FILE: &str = "cpu.cfs_quota_us";

/// The quota of one group. A text that cannot be understood becomes a warning.
fn read_group(reader: &mut CgroupReader<'_>, version: CgroupVersion, directory: &Path) -> Option<CpuQuota> {
    let file = directory.join(if version == CgroupVersion::V2 { "cpu.max" } else { CFS_QUOTA_FILE });
    let text = reader.read_text(&file)?;
    let parsed = match version {
        CgroupVersion::V2 => parse_cpu_max(&text),
        // It has the quota and the period in two files.
        CgroupVersion::V1 => {
            parse_cfs(&text, || reader.read_text(&directory.join("cpu.cfs_period_us")).unwrap_or_default())
        }
    };
    let cpus = parsed.map_err(|problem| reader.warn(&file, &problem)).ok().flatten()?;
    Some(CpuQuota { cpus, file })
}

/// Reads the text of `cpu.max`, such as "max 100000" or "150000 100000": the quota and the period, both in
/// microseconds. Returns the number of CPUs, or `None` if there is no limit.
fn parse_cpu_max(text: &str) -> Result<Option<f64>, String> {
    let fields: Vec<_> = text.split_whitespace().collect();
    match fields[..] {
        ["max"] | ["max", _] => Ok(None),
        // The period may be missing. The kernel's default for it is 100 ms.
        [quota] => cpus_of_quota(quota, "100000").map(Some),
        [quota, period] => cpus_of_quota(quota, period).map(Some),
        _ => Err(format!("says {:?}, expected \"max\" or a quota, and a period", text.trim())),
    }
}

/// Reads the texts of `cpu.cfs_quota_us`, in which a negative number means that there is no limit, and of
/// `cpu.cfs_period_us`, which `period` returns and which says nothing where there is no limit. Returns the number of
/// CPUs, or `None` if there is no limit.
fn parse_cfs(quota: &str, period: impl FnOnce() -> String) -> Result<Option<f64>, String> {
    let quota = quota.trim();
    match quota.parse::<i64>() {
        Ok(number) if number < 0 => Ok(None),
        _ => cpus_of_quota(quota, period().trim()).map(Some),
    }
}

/// The number of CPUs that a quota of CPU time in each period keeps busy. Both must be positive.
fn cpus_of_quota(quota: &str, period: &str) -> Result<f64, String> {
    match (quota.parse::<u64>(), period.parse::<u64>()) {
        (Ok(quota @ 1..), Ok(period @ 1..)) => Ok(quota as f64 / period as f64),
        _ => Err(format!("says quota {quota:?} and period {period:?}, expected two positive numbers")),
    }
}

#[cfg(test)]
mod tests;
