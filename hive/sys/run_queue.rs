//! Whether threads of the machine wait for a CPU, or CPUs for a thread, and whether hives take CPUs from each other.

use crate::sys::cpu_locks::CpuLocks;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::{affinity, kernel_file, presence, sandbox};

/// How many threads want a CPU, and how many CPUs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunQueue {
    /// Threads of the whole machine that run or wait for a CPU. The calling thread is one that runs.
    runnable: usize,
    /// Those of them that are hive's in this process: the calling thread, and all hives' awake workers.
    own: usize,
    cpus: usize,
}

impl RunQueue {
    #[cfg(test)]
    pub(crate) fn of(runnable: usize, own: usize, cpus: usize) -> Self {
        Self { runnable, own, cpus }
    }

    /// As it is now. None: the system does not say, or the calling thread may not use the whole machine, and what the
    /// system says is about other CPUs as well. Takes some 20 us.
    pub(crate) fn read() -> Option<Self> {
        if sandbox::has_come() {
            return None;
        }
        let (runnable, _) = kernel_file::threads_in_loadavg(&kernel_file::line("/proc/loadavg")?)?;
        let cpus = kernel_file::value::<CpuMask>("/sys/devices/system/cpu/online")?.len();
        let may_use_all = affinity::query().is_ok_and(|mask| mask.len() >= cpus);
        may_use_all.then(|| Self { runnable: runnable as usize, own: 1 + presence::awake_workers(), cpus })
    }

    /// As read now, where hives may take CPUs from each other. None: they may not, or `read` says nothing.
    pub(crate) fn read_if_shared() -> Option<Self> {
        CpuLocks::may_share().then(Self::read).flatten()
    }

    /// Whether the threads that are hive's here, one among many that want a CPU, get no more than a CPU and a third of
    /// one together, if the kernel shares out the CPUs evenly. With a CPU for itself, the calling thread is better off
    /// alone: a team that has fewer CPUs than bees wastes time slices in which its bees wait for each other.
    pub(crate) fn has_share_of_one(self) -> bool {
        3 * self.cpus * self.own <= 4 * self.runnable && self.runnable > self.cpus
    }

    /// Whether a worker that is woken finds a CPU free, taking it that the own workers that are awake only poll.
    pub(crate) fn has_free_cpu(self) -> bool {
        self.runnable < self.cpus + self.own - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hive_gives_way_if_its_share_is_about_one_cpu() {
        let has_share_of_one = |own, runnable, cpus| RunQueue::of(runnable, own, cpus).has_share_of_one();
        assert!(has_share_of_one(2, 3, 2), "the other hive runs on its caller");
        assert!(has_share_of_one(2, 4, 2) && has_share_of_one(8, 64, 8));
        assert!(!has_share_of_one(8, 16, 8) && !has_share_of_one(32, 65, 64) && !has_share_of_one(2, 2, 2));
    }

    #[test]
    fn a_cpu_is_free_if_nothing_runs_on_it_or_an_own_worker_that_polls() {
        let has_free_cpu = |own, runnable, cpus| RunQueue::of(runnable, own, cpus).has_free_cpu();
        assert!(has_free_cpu(1, 1, 2) && !has_free_cpu(1, 2, 2) && has_free_cpu(2, 2, 2));
    }
}
