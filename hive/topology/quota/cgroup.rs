//! Reads CPU quotas from the file systems of control groups, versions 1 and 2, for `quota.rs`.
//!
//! `sys/cgroups.rs` finds the directories of the process's groups; files in each of these directories have the group's
//! quota. All files are read through the function `read_file` that the caller passes in, so the tests need no real
//! control groups.

use std::io;
use std::path::{Path, PathBuf};

use crate::sys::cgroups::{
    CGROUP_FILE, CgroupVersion, MOUNTINFO_FILE, cgroup_paths, parse_group, parse_mount, usual_mount,
};
use crate::topology::quota::CpuQuota;

/// The smallest quota of the process's groups and of all groups above them, with warnings about what could not be read
/// or understood. `read_file` returns the contents of a file.
pub(crate) fn read_quota(read_file: impl Fn(&Path) -> io::Result<Vec<u8>>) -> (Option<CpuQuota>, Vec<String>) {
    let mut reader = QuotaReader { read_file, own_quota: None, warnings: Vec::new() };
    let groups = reader.read_text(Path::new(CGROUP_FILE)).unwrap_or_default();
    let directories = reader.usual_directories(&groups).unwrap_or_else(|| {
        let mounts = reader.read_text(Path::new(MOUNTINFO_FILE)).unwrap_or_default();
        let groups = reader.parse_lines(CGROUP_FILE, &groups, |line| parse_group(line, "cpu"));
        let mounts = reader.parse_lines(MOUNTINFO_FILE, &mounts, |line| parse_mount(line, "cpu"));
        cgroup_paths(&groups, &mounts)
    });
    let mut smallest: Option<CpuQuota> = None;
    for (version, directory) in directories {
        let found = match version {
            CgroupVersion::V2 => reader.read_v2(&directory),
            CgroupVersion::V1 => reader.read_v1(&directory),
        };
        let is_smaller = |quota: &CpuQuota| smallest.as_ref().is_none_or(|smallest| quota.cpus < smallest.cpus);
        if let Some(quota) = found.filter(is_smaller) {
            smallest = Some(quota);
        }
    }
    (smallest, reader.warnings)
}

/// The file with the quota of a group of version 1.
const CFS_QUOTA_FILE: &str = "cpu.cfs_quota_us";

/// Reads files and collects warnings about them.
struct QuotaReader<F> {
    read_file: F,
    /// The file of the process's own group of version 1 with its contents, if it has been read already.
    own_quota: Option<(PathBuf, Vec<u8>)>,
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
        match version {
            CgroupVersion::V2 => drop((self.read_file)(&own.join("cgroup.controllers")).ok()?),
            CgroupVersion::V1 => {
                let file = own.join(CFS_QUOTA_FILE);
                let bytes = (self.read_file)(&file).ok()?;
                self.own_quota = Some((file, bytes));
            }
        }
        Some(directories)
    }

    /// The text of a file, or `None` if it cannot be read. A missing file is normal and makes no warning: the group at
    /// the top has no limits, and a kernel may be built without control groups.
    fn read_text(&mut self, path: &Path) -> Option<String> {
        let known = self.own_quota.take_if(|(file, _)| file == path);
        match known.map_or_else(|| (self.read_file)(path), |(_, bytes)| Ok(bytes)) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.warn(path, &format!("cannot be read ({error})"));
                None
            }
        }
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

    /// The quota of one group of version 2.
    fn read_v2(&mut self, directory: &Path) -> Option<CpuQuota> {
        let file = directory.join("cpu.max");
        let text = self.read_text(&file)?;
        let parsed = parse_cpu_max(&text);
        self.quota_or_warn(file, parsed)
    }

    /// The quota of one group of version 1, which has the quota and the period in two files.
    fn read_v1(&mut self, directory: &Path) -> Option<CpuQuota> {
        let file = directory.join(CFS_QUOTA_FILE);
        let quota = self.read_text(&file)?;
        let parsed = parse_cfs(&quota, || self.read_text(&directory.join("cpu.cfs_period_us")).unwrap_or_default());
        self.quota_or_warn(file, parsed)
    }

    /// The quota that was parsed from `file`. A text that could not be understood becomes a warning.
    fn quota_or_warn(&mut self, file: PathBuf, parsed: Result<Option<f64>, String>) -> Option<CpuQuota> {
        match parsed {
            Ok(cpus) => cpus.map(|cpus| CpuQuota { cpus, file }),
            Err(problem) => {
                self.warn(&file, &problem);
                None
            }
        }
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
pub(crate) mod tests;
