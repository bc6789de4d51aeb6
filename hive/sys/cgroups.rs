//! Finds the directories of the process's control groups, versions 1 and 2.
//!
//! `/proc/self/cgroup` says which groups the process is in, and `/proc/self/mountinfo` where the groups' directories
//! are mounted. `thread_limits/linux.rs` looks in these directories for the limit on the number of threads, and
//! `topology/quota.rs` for the limit on CPU time.

use std::io;
use std::path::{Component, Path, PathBuf};

/// The kernel's list of the control groups that this process is in.
pub(crate) const CGROUP_FILE: &str = "/proc/self/cgroup";
/// The kernel's list of the file systems that this process can see.
pub(crate) const MOUNTINFO_FILE: &str = "/proc/self/mountinfo";

/// Which of the kernel's two interfaces a hierarchy of control groups has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    V1,
    V2,
}

/// The directory in which almost every system mounts its control groups: version 2 itself, or a directory for each
/// hierarchy of version 1, which has the names of its controllers.
const USUAL_MOUNT_POINT: &str = "/sys/fs/cgroup";

/// Where a hierarchy of control groups is mounted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    version: CgroupVersion,
    /// The group whose directory is the mount point. In a container this may be a group far below the top of the
    /// hierarchy.
    root: PathBuf,
    mount_point: PathBuf,
}

/// Reads the files of control groups by a function, and collects warnings about them.
pub(crate) struct CgroupReader<'f> {
    pub(crate) read_file: &'f dyn Fn(&Path) -> io::Result<Vec<u8>>,
    pub(crate) warnings: Vec<String>,
}

impl CgroupReader<'_> {
    /// The directories of the process's groups that have the `controller`, such as "pids", and of all groups above
    /// them, as far as they are mounted, with the version of their hierarchy. `of_v1` is a file that each group of
    /// version 1 has but the one at the top.
    pub(crate) fn directories(&mut self, controller: &str, of_v1: &str) -> Vec<(CgroupVersion, PathBuf)> {
        let groups = self.read_text(Path::new(CGROUP_FILE)).unwrap_or_default();
        self.usual_directories(&groups, controller, of_v1).unwrap_or_else(|| {
            let mounts = self.read_text(Path::new(MOUNTINFO_FILE)).unwrap_or_default();
            let groups = self.parse_lines(CGROUP_FILE, &groups, |line| parse_group(line, controller));
            let mounts = self.parse_lines(MOUNTINFO_FILE, &mounts, |line| parse_mount(line, controller));
            cgroup_paths(&groups, &mounts)
        })
    }

    /// The same, if they are at the usual place. `groups` is the text of `/proc/self/cgroup`.
    fn usual_directories(&self, groups: &str, controller: &str, of_v1: &str) -> Option<Vec<(CgroupVersion, PathBuf)>> {
        let (group, mount) = usual_mount(groups, controller)?;
        let directories = cgroup_paths(&[group], &[mount]);
        let (version, own) = directories.first()?;
        // They are, if there is a file that each group of the version has.
        let file = if *version == CgroupVersion::V2 { "cgroup.controllers" } else { of_v1 };
        (self.read_file)(&own.join(file)).is_ok().then_some(directories)
    }

    /// The text of a file, or `None` if it cannot be read. A missing file is normal and makes no warning: the group at
    /// the top has no limits, and a kernel may be built without control groups.
    pub(crate) fn read_text(&mut self, path: &Path) -> Option<String> {
        match (self.read_file)(path) {
            Ok(bytes) => return Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.warn(path, &format!("cannot be read ({error})")),
        }
        None
    }

    /// Calls `parse` for each line of the text and returns what it finds. Lines that say nothing about the controller
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

    pub(crate) fn warn(&mut self, path: &Path, problem: &str) {
        self.warnings.push(format!("{} {problem}: a limit there is not respected", path.display()));
    }
}

/// The process's group that has the `controller`, by the text of `/proc/self/cgroup`, and the place where its hierarchy
/// is mounted on almost every system. None: there is no such group, or it is not known which place that is.
///
/// If the directory of the group is there, the hierarchy is mounted there as a whole. To look for that is quicker than
/// to read the list of all mounts.
fn usual_mount(groups: &str, controller: &str) -> Option<((CgroupVersion, PathBuf), Mount)> {
    let mut lines = groups.lines().map(|line| line.splitn(3, ':').collect::<Vec<_>>());
    let has_controller = |fields: &Vec<&str>| matches!(fields[..], [_, names, _] if has_name(names, controller));
    // Version 2 has no controller that version 1 has.
    let (version, mount_point, path) = match lines.clone().find(has_controller).as_deref() {
        Some(&[_, names, path]) => (CgroupVersion::V1, Path::new(USUAL_MOUNT_POINT).join(names), path),
        _ => match (lines.next().as_deref(), lines.next()) {
            (Some(&["0", "", path]), None) => (CgroupVersion::V2, USUAL_MOUNT_POINT.into(), path),
            _ => return None,
        },
    };
    Some(((version, path.into()), Mount { version, root: "/".into(), mount_point }))
}

/// Whether a list with commas has this name.
fn has_name(list: &str, name: &str) -> bool {
    list.split(',').any(|listed| listed == name)
}

/// Reads one line of `/proc/self/cgroup`, such as `4:cpu,cpuacct:/user.slice` or `0::/user.slice`. Returns the version
/// of the hierarchy and the path of the process's group in it, or `None` if the hierarchy does not have the
/// `controller`. A line of version 2 does not name its controllers, so it is always returned.
fn parse_group(line: &str, controller: &str) -> Result<Option<(CgroupVersion, PathBuf)>, String> {
    match line.splitn(3, ':').collect::<Vec<_>>()[..] {
        ["0", "", path] => Ok(Some((CgroupVersion::V2, path.into()))),
        [_, names, path] => Ok(has_name(names, controller).then(|| (CgroupVersion::V1, path.into()))),
        _ => Err("expected number:controllers:path".to_owned()),
    }
}

/// Reads one line of `/proc/self/mountinfo`, such as
/// `35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate`.
/// Returns `None` if it is not a hierarchy of control groups with the `controller`.
fn parse_mount(line: &str, controller: &str) -> Result<Option<Mount>, String> {
    let malformed =
        || "expected the fields of a mount, a dash, the file system's type, its source and its options".to_owned();
    let (mount, file_system) = line.split_once(" - ").ok_or_else(malformed)?;
    // The first field is the type of the file system. Version 1 has one file system for each set of controllers, and
    // names them among the mount options, the third field; version 2 has one for all.
    let version = match file_system.split(' ').collect::<Vec<_>>()[..] {
        ["cgroup2", ..] => CgroupVersion::V2,
        ["cgroup", _, options, ..] if has_name(options, controller) => CgroupVersion::V1,
        ["cgroup"] | ["cgroup", _] => return Err(malformed()),
        _ => return Ok(None),
    };
    // The root and the mount point are the fourth and the fifth field.
    let [_, _, _, root, point, ..] = mount.split(' ').collect::<Vec<_>>()[..] else { return Err(malformed()) };
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
        let rank = |mount: &&Mount| (relative_to_mount(mount, group).is_none(), mount.root.components().count());
        let Some(mount) = mounts.min_by_key(rank) else { continue };
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
