//! A limit on the CPU time of processes, by a control group, as those who run containers set it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, process};

/// How often a new share of time is given out, in microseconds. This is the kernel's default.
const PERIOD: f64 = 100_000.0;

/// A process is in one group at a time.
static ONE: Mutex<()> = Mutex::new(());

/// This process, and those that it starts, are in a group with a quota until this is dropped.
pub(crate) struct Quota {
    group: PathBuf,
    /// The group to go back to.
    before: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl Quota {
    /// A quota of so many CPUs. An error says why there can be none.
    pub(crate) fn new(cpus: f64) -> Result<Self, String> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let (before, is_first_version) = own_group(&own).ok_or("this process is in no control group for CPUs")?;
        let group = before.join(format!("hive-bench-{}", process::id()));
        fs::create_dir(&group)
            .map_err(|error| format!("cannot make the control group {}: {error}", group.display()))?;
        let quota = Self { group, before, _one: one };
        let time = (cpus * PERIOD).round();
        if is_first_version {
            write(&quota.group.join("cpu.cfs_period_us"), &PERIOD.to_string())?;
            write(&quota.group.join("cpu.cfs_quota_us"), &time.to_string())?;
        } else {
            // Where it is so already, the file may be refused. If it is not so, the next one is not there.
            let _ = write(&quota.before.join("cgroup.subtree_control"), "+cpu");
            write(&quota.group.join("cpu.max"), &format!("{time} {PERIOD}"))?;
        }
        enter(&quota.group).map(|()| quota)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A group that cannot be left or removed disturbs nobody but this process, which is about to end.
        let _ = enter(&self.before).and_then(|()| fs::remove_dir(&self.group).map_err(|error| error.to_string()));
    }
}

fn enter(group: &Path) -> Result<(), String> {
    write(&group.join("cgroup.procs"), &process::id().to_string())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("cannot write {text} to {}: {error}", file.display()))
}

/// The directory of the group for CPUs, and whether it is one of the first version of control groups, to judge by the
/// text of `/proc/self/cgroup`.
fn own_group(text: &str) -> Option<(PathBuf, bool)> {
    let groups = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?.trim_start_matches('/')))
    });
    let of = |is_wanted: fn(&str) -> bool| groups.clone().find(|(kinds, _)| is_wanted(kinds));
    let first = of(|kinds| kinds.split(',').any(|kind| kind == "cpu"));
    let first = first.map(|(_, path)| (Path::new("/sys/fs/cgroup/cpu").join(path), true));
    first.or_else(|| of(str::is_empty).map(|(_, path)| (Path::new("/sys/fs/cgroup").join(path), false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_for_cpus_is_found() {
        let of = |text| own_group(text).map(|(path, is_first)| (path.display().to_string(), is_first));
        let first = "3:cpuset:/\n2:cpuacct,cpu:/a/b\n0::/\n";
        assert_eq!(of(first), Some(("/sys/fs/cgroup/cpu/a/b".to_owned(), true)));
        assert_eq!(of("0::/user.slice/x\n"), Some(("/sys/fs/cgroup/user.slice/x".to_owned(), false)));
        assert_eq!(of("3:cpuset:/\n"), None);
    }

    #[test]
    fn a_quota_is_in_effect_until_it_is_dropped() {
        match Quota::new(1.5) {
            Ok(quota) => {
                assert!(fs::read_to_string("/proc/self/cgroup").unwrap().contains("hive-bench-"));
                let group = quota.group.clone();
                drop(quota);
                // Another test may be in a group of the same name by now.
                let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
                assert!(!group.exists());
            }
            Err(error) => assert!(error.contains("control group") || error.contains("cgroup"), "{error}"),
        }
    }
}
