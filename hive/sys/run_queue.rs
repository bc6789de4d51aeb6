//! Whether threads of the machine wait for a CPU, or CPUs for a thread. What Linux tells of that counts all processes,
//! so it says something of the CPUs of this one only where the process may use the whole machine, or the whole machine
//! is as busy.

use crate::sys::cpu_locks::CpuLocks;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::{kernel_file, sandbox};

/// Whether another hive, of this process or another one, may want the CPUs on which the workers of this one run: there
/// is one, and more threads than CPUs.
pub(crate) fn is_shared_with_hives() -> bool {
    CpuLocks::are_others_here() && threads_beyond_cpus().is_some_and(|threads| threads > 0)
}

/// How many more threads the machine has that run or wait for a CPU than it has CPUs; negative, if so many CPUs have
/// nothing to do. The calling thread is one that runs. None: the system does not say. Takes some 20 us.
pub(crate) fn threads_beyond_cpus() -> Option<isize> {
    if sandbox::has_come() {
        return None;
    }
    let threads = runnable_in_loadavg(&kernel_file::line("/proc/loadavg")?)?;
    let cpus: CpuMask = kernel_file::value("/sys/devices/system/cpu/online")?;
    Some(threads - cpus.iter().count() as isize)
}

/// The number of threads that run or wait for a CPU, from a line such as `0.20 0.18 0.12 1/80 11206`.
fn runnable_in_loadavg(text: &str) -> Option<isize> {
    text.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runnable_threads_are_read() {
        assert_eq!(runnable_in_loadavg("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(runnable_in_loadavg(""), None);
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_calling_thread_is_one_that_runs() {
        let cpus: CpuMask = kernel_file::value("/sys/devices/system/cpu/online").unwrap();
        assert!(threads_beyond_cpus().unwrap() > -(cpus.iter().count() as isize));
    }
}
