//! Reads CPU quotas from the file systems of control groups, versions 1 and 2, for `quota.rs`.
//!
//! `/proc/self/cgroup` says which groups the process is in, `/proc/self/mountinfo` where the groups' directories are
//! mounted, and files in each of these directories have the group's quota. All files are read through the function
//! `read_file` that the caller passes in, so the tests need no real control groups.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::topology::quota::CpuQuota;

/// The kernel's list of the control groups that this process is in.
const CGROUP_FILE: &str = "/proc/self/cgroup";
/// The kernel's list of the file systems that this process can see.
const MOUNTINFO_FILE: &str = "/proc/self/mountinfo";

/// Which of the kernel's two interfaces a hierarchy of control groups has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CgroupVersion {
    V1,
    V2,
}

/// Where a hierarchy of control groups is mounted.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: CgroupVersion,
    /// The group whose directory is the mount point. In a container this may be a group far below the top of the
    /// hierarchy.
    root: PathBuf,
    mount_point: PathBuf,
}

/// The smallest quota of the process's groups and of all groups above them, with warnings about what could not be read
/// or understood. `read_file` returns the contents of a file.
pub(crate) fn read_quota(read_file: impl Fn(&Path) -> io::Result<Vec<u8>>) -> (Option<CpuQuota>, Vec<String>) {
    let mut reader = QuotaReader { read_file, warnings: Vec::new() };
    let groups = reader.read_text(Path::new(CGROUP_FILE)).unwrap_or_default();
    let mounts = reader.read_text(Path::new(MOUNTINFO_FILE)).unwrap_or_default();
    let groups = reader.parse_lines(CGROUP_FILE, &groups, |line| parse_group(line, "cpu"));
    let mounts = reader.parse_lines(MOUNTINFO_FILE, &mounts, |line| parse_mount(line, "cpu"));
    let mut smallest: Option<CpuQuota> = None;
    for (version, directory) in cgroup_paths(&groups, &mounts) {
        let found = match version {
            CgroupVersion::V2 => reader.read_v2(&directory),
            CgroupVersion::V1 => reader.read_v1(&directory),
        };
        if let Some(quota) = found
            && smallest.as_ref().is_none_or(|smallest| quota.cpus < smallest.cpus)
        {
            smallest = Some(quota);
        }
    }
    (smallest, reader.warnings)
}

/// The directories of the process's groups that have the `controller`, and of all groups above them, as far as they are
/// mounted. Lines and files that cannot be read are left out without a warning.
pub(crate) fn controller_directories(
    controller: &str,
    read_file: impl Fn(&Path) -> io::Result<Vec<u8>>,
) -> Vec<PathBuf> {
    let text = |file: &str| read_file(Path::new(file)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (groups, mounts) = (text(CGROUP_FILE).unwrap_or_default(), text(MOUNTINFO_FILE).unwrap_or_default());
    let groups: Vec<_> = groups.lines().filter_map(|line| parse_group(line, controller).ok().flatten()).collect();
    let mounts: Vec<_> = mounts.lines().filter_map(|line| parse_mount(line, controller).ok().flatten()).collect();
    cgroup_paths(&groups, &mounts).into_iter().map(|(_, directory)| directory).collect()
}

/// Reads files and collects warnings about them.
struct QuotaReader<F> {
    read_file: F,
    warnings: Vec<String>,
}

impl<F: Fn(&Path) -> io::Result<Vec<u8>>> QuotaReader<F> {
    /// The text of a file, or `None` if it cannot be read. A missing file is normal and makes no warning: the group at
    /// the top has no limits, and a kernel may be built without control groups.
    fn read_text(&mut self, path: &Path) -> Option<String> {
        match (self.read_file)(path) {
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
        let file = directory.join("cpu.cfs_quota_us");
        let quota = self.read_text(&file)?;
        let period = self.read_text(&directory.join("cpu.cfs_period_us")).unwrap_or_default();
        let parsed = parse_cfs(&quota, &period);
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

/// Reads one line of `/proc/self/cgroup`, such as `4:cpu,cpuacct:/user.slice` or `0::/user.slice`. Returns the version
/// of the hierarchy and the path of the process's group in it, or `None` if the hierarchy does not have the
/// `controller`. A line of version 2 does not name its controllers, so it is always returned.
fn parse_group(line: &str, controller: &str) -> Result<Option<(CgroupVersion, PathBuf)>, String> {
    let mut fields = line.splitn(3, ':');
    let (Some(id), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
        return Err("expected number:controllers:path".to_owned());
    };
    if id == "0" && controllers.is_empty() {
        return Ok(Some((CgroupVersion::V2, path.into())));
    }
    Ok(controllers.split(',').any(|name| name == controller).then(|| (CgroupVersion::V1, path.into())))
}

/// Reads one line of `/proc/self/mountinfo`, such as
/// `35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate`.
/// Returns `None` if it is not a hierarchy of control groups with the `controller`.
fn parse_mount(line: &str, controller: &str) -> Result<Option<Mount>, String> {
    let malformed =
        || "expected the fields of a mount, a dash, the file system's type, its source and its options".to_owned();
    let (mount, file_system) = line.split_once(" - ").ok_or_else(malformed)?;
    let mut file_system = file_system.split(' ');
    // The first field is the type of the file system. Version 1 has one file system for each set of controllers, and
    // names them among the mount options, the third field; version 2 has one for all.
    let version = match file_system.next() {
        Some("cgroup2") => CgroupVersion::V2,
        Some("cgroup") => {
            let options = file_system.nth(1).ok_or_else(malformed)?;
            if !options.split(',').any(|option| option == controller) {
                return Ok(None);
            }
            CgroupVersion::V1
        }
        _ => return Ok(None),
    };
    // The root and the mount point are the fourth and the fifth field.
    let mut fields = mount.split(' ').skip(3);
    let (Some(root), Some(point)) = (fields.next(), fields.next()) else {
        return Err(malformed());
    };
    Ok(Some(Mount { version, root: unescape(root).into(), mount_point: unescape(point).into() }))
}

/// Replaces the escapes in a path of `/proc/self/mountinfo`: the kernel writes blanks, tabs, line ends and backslashes
/// as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

/// The directories of the process's `groups` and of all groups above them, as far as they are mounted, with the version
/// of their hierarchy.
fn cgroup_paths(groups: &[(CgroupVersion, PathBuf)], mounts: &[Mount]) -> Vec<(CgroupVersion, PathBuf)> {
    let mut directories = Vec::new();
    for (version, group) in groups {
        let mounts = mounts.iter().filter(|mount| mount.version == *version);
        // Take a mount that contains the group, and among several the one whose root is highest, because it shows the
        // most groups above. In a container the group may lie outside of every mount. All that can be seen then is the
        // group at the mount point.
        let Some(mount) =
            mounts.min_by_key(|mount| (relative_to_mount(mount, group).is_none(), mount.root.components().count()))
        else {
            continue;
        };
        let group_directory = mount.mount_point.join(relative_to_mount(mount, group).unwrap_or(Path::new("")));
        let ancestors = group_directory.ancestors().take_while(|directory| directory.starts_with(&mount.mount_point));
        directories.extend(ancestors.map(|directory| (*version, directory.to_owned())));
    }
    directories
}

/// The path of `group` relative to the mount point, if the mount contains the group. A path with `..` names a group
/// outside of the process's namespace, which no mount contains.
fn relative_to_mount<'g>(mount: &Mount, group: &'g Path) -> Option<&'g Path> {
    let leaves_namespace = group.components().any(|component| component == Component::ParentDir);
    group.strip_prefix(&mount.root).ok().filter(|_| !leaves_namespace)
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
/// `cpu.cfs_period_us`. Returns the number of CPUs, or `None` if there is no limit.
fn parse_cfs(quota: &str, period: &str) -> Result<Option<f64>, String> {
    let quota = quota.trim();
    match quota.parse::<i64>() {
        Ok(number) if number < 0 => Ok(None),
        _ => cpus_of_quota(quota, period.trim()).map(Some),
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
