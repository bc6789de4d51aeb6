//! How many CPUs' worth of time the control groups of this process let it use.

#[cfg(any(target_os = "linux", target_os = "android", test))]
pub(crate) mod cgroup;

use std::fmt;
use std::path::PathBuf;

/// A limit on CPU time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CpuQuota {
    /// CPUs' worth of time; may be a fraction.
    pub(crate) cpus: f64,
    /// The file that says so.
    pub(crate) file: PathBuf,
}

/// Such as "1.5 CPUs (/sys/fs/cgroup/cpu.max)".
impl fmt::Display for CpuQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} CPUs ({})", self.cpus, self.file.display())
    }
}

/// The smallest CPU quota among this process's control group and all above it, if there is one, and what could not be
/// understood on the way. Only Linux has such groups.
pub(crate) fn cpu_quota() -> (Option<CpuQuota>, Vec<String>) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        cgroup::read_quota(|path| std::fs::read(path))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        (None, Vec::new())
    }
}

/// The directories of this process's control groups that `controller` is for, and of all groups above them.
#[cfg(target_os = "linux")]
pub(crate) fn cgroup_directories(controller: &str) -> Vec<PathBuf> {
    cgroup::controller_directories(controller, |path| std::fs::read(path))
}

/// How many threads can always be running at once: the whole CPUs of the quota, no more than the mask has, at least one.
pub(crate) fn usable_cpus(allowed_cpus: usize, quota: Option<&CpuQuota>) -> usize {
    // Rounded down: with one thread more than the quota pays for, all of them stop once a period, in the middle of a region.
    // The cast saturates, and not-a-number becomes 0.
    let whole_cpus = quota.map_or(usize::MAX, |quota| quota.cpus.floor() as usize);
    whole_cpus.min(allowed_cpus).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
