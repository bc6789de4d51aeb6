//! Tests of reading quotas: control groups of all kinds, given as the texts of their files.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::sys::cgroups::{CGROUP_FILE, MOUNTINFO_FILE};

#[test]
fn whole_cpus_of_the_quota_within_the_mask() {
    let usable = |len, cpus| usable_cpus(len, Some(&CpuQuota { cpus, file: PathBuf::new() }));
    assert_eq!(usable_cpus(8, None), 8);
    assert_eq!(usable_cpus(0, None), 1);
    assert_eq!(usable(8, 2.0), 2);
    assert_eq!(usable(8, 2.99), 2);
    assert_eq!(usable(8, 0.25), 1);
    assert_eq!(usable(2, 16.0), 2);
    assert_eq!(usable(8, f64::INFINITY), 8);
    assert_eq!(usable(8, f64::NAN), 1);
}

#[test]
fn names_the_limit_and_its_file() {
    let quota = CpuQuota { cpus: 1.5, file: "/sys/fs/cgroup/cpu.max".into() };
    assert_eq!(quota.to_string(), "1.5 CPUs (/sys/fs/cgroup/cpu.max)");
}

#[test]
fn this_machine_is_understood() {
    let (quota, warnings) = cpu_quota();
    assert!(quota.is_none_or(|quota| quota.cpus > 0.0));
    assert_eq!(warnings, Vec::<String>::new());
}

/// A line of `/proc/self/mountinfo` that mounts all of version 2.
const MOUNT_V2: &str = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
/// A line of `/proc/self/mountinfo` that mounts version 1 for the controller of CPU time.
const MOUNT_V1: &str = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

/// What [`read_quota`] finds in a file system of these files, each given by its path and its text.
fn read_files(files: &[(&str, &str)]) -> (Option<CpuQuota>, Vec<String>) {
    let files: HashMap<_, _> = files.iter().map(|(path, text)| (Path::new(path), text)).collect();
    read_quota(|path| {
        let text = files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.as_bytes().to_vec())
    })
}

/// The quota that a file is expected to give.
fn quota(cpus: f64, file: &str) -> Option<CpuQuota> {
    Some(CpuQuota { cpus, file: file.into() })
}

#[test]
fn without_groups_there_is_no_quota() {
    assert_eq!(read_files(&[]), (None, vec![]));
    assert_eq!(read_files(&[(CGROUP_FILE, "0::/\n"), (MOUNTINFO_FILE, MOUNT_V2)]), (None, vec![]));
    assert_eq!(read_files(&[(CGROUP_FILE, "0::/a\n")]), (None, vec![]));
}

#[test]
fn the_smallest_quota_up_to_the_top_counts() {
    let mut files = vec![
        (CGROUP_FILE, "0::/a/b/c\n"),
        (MOUNTINFO_FILE, MOUNT_V2),
        ("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n"),
        ("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
        ("/sys/fs/cgroup/a/cpu.max", "400000 100000\n"),
    ];
    assert_eq!(read_files(&files), (quota(1.5, "/sys/fs/cgroup/a/b/cpu.max"), vec![]));
    files.push(("/sys/fs/cgroup/cpu.max", "5000 10000\n"));
    assert_eq!(read_files(&files), (quota(0.5, "/sys/fs/cgroup/cpu.max"), vec![]));
}

#[test]
fn version_one_has_two_files() {
    let files = |own, above| {
        [
            (CGROUP_FILE, "5:cpuset:/x\n4:cpu,cpuacct:/a/b\n"),
            (MOUNTINFO_FILE, MOUNT_V1),
            ("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", own),
            ("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", above),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "50000\n"),
        ]
    };
    assert_eq!(read_files(&files("-1\n", "-1\n")), (None, vec![]));
    let (own, above) =
        ("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us");
    assert_eq!(read_files(&files("300000\n", "-1\n")), (quota(3.0, own), vec![]));
    assert_eq!(read_files(&files("300000\n", "100000\n")), (quota(2.0, above), vec![]));
}

#[test]
fn both_versions_side_by_side() {
    let files = [
        (CGROUP_FILE, "4:cpuset:/a\n1:name=systemd:/a\n0::/b\n"),
        (
            MOUNTINFO_FILE,
            "31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
        ),
        ("/sys/fs/cgroup/unified/b/cpu.max", "200000 100000"),
    ];
    assert_eq!(read_files(&files), (quota(2.0, "/sys/fs/cgroup/unified/b/cpu.max"), vec![]));
}

/// Then the list of mounts is not read.
#[test]
fn groups_at_the_usual_place_are_found_without_the_mounts() {
    let unread = (MOUNTINFO_FILE, "nonsense\n");
    let own = ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    let above = ("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    let there = ("/sys/fs/cgroup/a/b/cgroup.controllers", "cpu\n");
    let found = read_files(&[(CGROUP_FILE, "0::/a/b\n"), unread, there, own, above]);
    assert_eq!(found, (quota(1.5, above.0), vec![]));
    // Not there, or perhaps not there, or outside of what can be seen.
    for group in ["0::/a/c\n", "4:cpuset:/a\n0::/a/b\n", "0::/../a/b\n"] {
        assert_eq!(read_files(&[(CGROUP_FILE, group), unread, there, own, above]).1.len(), 1, "{group}");
    }
    let own = ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000");
    let period = ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000");
    let found = read_files(&[(CGROUP_FILE, "5:pids:/x\n4:cpu,cpuacct:/a\n0::/b\n"), unread, own, period]);
    assert_eq!(found, (quota(3.0, own.0), vec![]));
}

#[test]
fn containers_see_part_of_the_hierarchy() {
    // The mount point is the container's own group.
    let mounted = "35 24 0:30 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
    let inner = ("/sys/fs/cgroup/x/cpu.max", "100000 100000");
    let outer = ("/sys/fs/cgroup/cpu.max", "300000 100000");
    let files = [(CGROUP_FILE, "0::/docker/abc/x\n"), (MOUNTINFO_FILE, mounted), inner, outer];
    assert_eq!(read_files(&files), (quota(1.0, inner.0), vec![]));
    // If the group is not below what is mounted, or outside of the namespace, only the group at the mount point is
    // seen.
    for group in ["0::/elsewhere/x\n", "0::/docker/abcd/x\n", "0::/../x\n"] {
        let files = [(CGROUP_FILE, group), (MOUNTINFO_FILE, mounted), inner, outer];
        assert_eq!(read_files(&files), (quota(3.0, outer.0), vec![]), "{group}");
    }
    // A path that leaves the namespace is not followed from the mount point to a directory beside it.
    let beside = ("/sys/fs/cgroup/../x/cpu.max", "100000 100000");
    let files = [(CGROUP_FILE, "0::/../x\n"), (MOUNTINFO_FILE, MOUNT_V2), beside, outer];
    assert_eq!(read_files(&files), (quota(3.0, outer.0), vec![]));
    // The same hierarchy is mounted twice: the mount that shows the groups above is used.
    let twice = format!("{mounted}36 24 0:30 / /mnt/all\\040groups rw - cgroup2 cgroup rw\n");
    let above = ("/mnt/all groups/docker/cpu.max", "50000 100000");
    let files = [(CGROUP_FILE, "0::/docker/abc/x\n"), (MOUNTINFO_FILE, &twice), inner, above];
    assert_eq!(read_files(&files), (quota(0.5, above.0), vec![]));
}

#[test]
fn nonsense_is_a_warning() {
    for text in ["", "none", "0 100000", "100000 0", "-1 100000", "1 2 3", "1e5 100000", "99999999999999999999 1"] {
        let files = [(CGROUP_FILE, "0::/\n"), (MOUNTINFO_FILE, MOUNT_V2), ("/sys/fs/cgroup/cpu.max", text)];
        let (quota, warnings) = read_files(&files);
        assert_eq!(quota, None, "{text}");
        assert_eq!(warnings.len(), 1, "{text}: {warnings:?}");
        assert!(warnings[0].starts_with("/sys/fs/cgroup/cpu.max says "), "{text}: {warnings:?}");
    }
    let one =
        [(CGROUP_FILE, "4:cpu:/\n"), (MOUNTINFO_FILE, MOUNT_V1), ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "5")];
    let (quota, warnings) = read_files(&one);
    assert_eq!((quota, warnings.len()), (None, 1), "a period is missing");
}

#[test]
fn malformed_lines_are_warnings_and_the_others_count() {
    let mounts = format!("nonsense\n35 24 - cgroup2 x y\n36 24 0:30 / /x rw - cgroup\n{MOUNT_V2}");
    let files =
        [(CGROUP_FILE, "nonsense\n0::/\n"), (MOUNTINFO_FILE, &mounts), ("/sys/fs/cgroup/cpu.max", "100000 50000")];
    let (found, warnings) = read_files(&files);
    assert_eq!(found, quota(2.0, "/sys/fs/cgroup/cpu.max"));
    assert_eq!(warnings.len(), 4, "{warnings:#?}");
    assert!(warnings[0].starts_with("/proc/self/cgroup has a line \"nonsense\""), "{warnings:#?}");
}

#[test]
fn a_file_that_cannot_be_read_is_a_warning() {
    let (quota, warnings) = read_quota(|_| Err(io::ErrorKind::PermissionDenied.into()));
    assert_eq!((quota, warnings.len()), (None, 2));
    assert!(warnings[0].contains("/proc/self/cgroup cannot be read"), "{warnings:?}");
}

#[test]
fn a_period_may_be_left_out() {
    assert_eq!(parse_cpu_max("250000\n"), Ok(Some(2.5)));
    assert_eq!(parse_cpu_max("max"), Ok(None));
}

proptest! {
    #[test]
    fn never_panics(
        groups in "([0-9]:|cpu|:|/|a|\n){0,20}",
        mounts in "(cgroup2?| |-| - |/|cpu|,|a|\n){0,40}",
        limit in "[0-9max -]{0,20}"
    ) {
        let _ = read_quota(|path| {
            let text = match path.to_str() {
                Some(CGROUP_FILE) => &groups,
                Some(MOUNTINFO_FILE) => &mounts,
                _ => &limit,
            };
            Ok(text.clone().into_bytes())
        });
    }
}
