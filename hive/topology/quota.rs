//! The CPU quota: how much CPU time the control groups of this process let it use, counted in CPUs.
//!
//! `MachineInfo::detect` reads the quota, and [`usable_cpus`] derives from it the number of bees that a hive has by
//! default. The files are read by `quota/cgroup.rs`.

#[cfg(any(target_os = "linux", target_os = "android", test))]
pub(crate) mod cgroup;

use std::fmt;
use std::path::PathBuf;

#[cfg(any(target_os = "linux", target_os = "android"))]
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
/// of them has a quota. Also returns a warning for each file or line that could not be understood. Only Linux and
/// Android have control groups.
pub(crate) fn cpu_quota() -> (Option<CpuQuota>, Vec<String>) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        cgroup::read_quota(|path| kernel_file::read(path))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        (None, Vec::new())
    }
}

/// The number of threads that can always run at the same time: the quota in whole CPUs, at most the number of allowed
/// CPUs, and at least 1.
pub(crate) fn usable_cpus(allowed_cpus: usize, quota: Option<&CpuQuota>) -> usize {
    // The quota is rounded down. With one thread more than the quota pays for, the kernel would stop all threads once
    // in every period, in the middle of a region. The cast saturates, and turns not-a-number into 0.
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
