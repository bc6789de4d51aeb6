//! The CPU quota: how much CPU time the control groups of this process let it use, counted in CPUs.
//!
//! `MachineInfo::detect` reads the quota, and [`usable_cpus`] derives from it the number of bees that a hive has by
//! default. `sys/cgroups.rs` finds the directories of the process's groups; files in each of these directories have the
//! group's quota. All files are read through a function that is passed to `read_quota`, so the tests need no real
//! control groups.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::sys::cgroups::{
    CGROUP_FILE, CgroupVersion, MOUNTINFO_FILE, cgroup_paths, parse_group, parse_mount, usual_mount,
};
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
    let mut reader = QuotaReader { read_file, warnings: Vec::new() };
    let groups = reader.read_text(Path::new(CGROUP_FILE)).unwrap_or_default();
    let directories = reader.usual_directories(&groups).unwrap_or_else(|| {
        let mounts = reader.read_text(Path::new(MOUNTINFO_FILE)).unwrap_or_default();
        let groups = reader.parse_lines(CGROUP_FILE, &groups, |line| parse_group(line, "cpu"));
        let mounts = reader.parse_lines(MOUNTINFO_FILE, &mounts, |line| parse_mount(line, "cpu"));
        cgroup_paths(&groups, &mounts)
    });
    let quotas = directories.iter().filter_map(|(version, directory)| reader.read_group(*version, directory));
    (quotas.min_by(|one, other| one.cpus.total_cmp(&other.cpus)), reader.warnings)
}

/// The file with the quota of a group of version 1.
const CFS_QUOTA_FILE: &str = "cpu.cfs_quota_us";

/// Reads files and collects warnings about them.
struct QuotaReader<F> {
    read_file: F,
    warnings: Vec<String>,
}

impl<F: Fn(&Path) -> io::Result<Vec<u8>>> QuotaReader<F> {
    /// The directories of the process's group and of those above it, if they are at the usual place. `groups` is the
    /// text of `/proc/self/cgroup`.
    fn usual_directories(&mut self, groups: &str) -> Option<Vec<(CgroupVersion, PathBuf)>> {
        let (group, mount) = usual_mount(groups, "cpu")?;
        let directories = cgroup_paths(&[group], &[mount]);
        let (version, own) = directories.first()?;
        // They are, if there is a file that each group of the version has.
        let file = if *version == CgroupVersion::V2 { "cgroup.controllers" } else { CFS_QUOTA_FILE };
        (self.read_file)(&own.join(file)).is_ok().then_some(directories)
    }

    /// The text of a file, or `None` if it cannot be read. A missing file is normal and makes no warning: the group at
    /// the top has no limits, and a kernel may be built without control groups.
    fn read_text(&mut self, path: &Path) -> Option<String> {
        match (self.read_file)(path) {
            Ok(bytes) => return Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.warn(path, &format!("cannot be read ({error})")),
        }
        None
    }

    /// Calls `parse` for each line of the text and returns what it finds. Lines that say nothing about CPU time
    /// (`Ok(None)`) are left out; lines that cannot be understood are left out with a warning.
    fn parse_lines<T>(&mut self, path: &str, text: &str, parse: impl Fn(&str) -> Result<Option<T>, String>) -> Vec<T> {
        let mut all = Vec::new();
        for line in text.lines() {
            match parse(line) {
                Ok(parsed) => all.extend(parsed),
                Err(problem) => self.warn(Path::new(path), &format!("has a line {line:?}: {problem}")),
            }
        }
        all
    }

    /// The quota of one group. A text that cannot be understood becomes a warning.
    fn read_group(&mut self, version: CgroupVersion, directory: &Path) -> Option<CpuQuota> {
        let file = directory.join(if version == CgroupVersion::V2 { "cpu.max" } else { CFS_QUOTA_FILE });
        let text = self.read_text(&file)?;
        let parsed = match version {
            CgroupVersion::V2 => parse_cpu_max(&text),
            // It has the quota and the period in two files.
            CgroupVersion::V1 => {
                parse_cfs(&text, || self.read_text(&directory.join("cpu.cfs_period_us")).unwrap_or_default())
            }
        };
        let cpus = parsed.unwrap_or_else(|problem| {
            self.warn(&file, &problem);
            None
        });
        cpus.map(|cpus| CpuQuota { cpus, file })
    }

    fn warn(&mut self, path: &Path, problem: &str) {
        self.warnings.push(format!("{} {problem}: a CPU quota there is not respected", path.display()));
    }
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
