//! The runtimes that are measured.

use std::time::Duration;

use super::Case;
use crate::system::cpus;

named! {
    /// The runtimes that are measured.
    RuntimeId {
        Hive "hive" "hive with its default waiting";
        HiveSpin "hive-spin" "hive with unbounded spinning";
        HiveTickle "hive-tickle" "hive with the sleep protocol tickle";
        HiveNotify "hive-notify" "hive with the sleep protocol notify";
        HiveDefault "hive-default" "hive as it is by default: its workers bound, the caller not";
        HiveUnpinned "hive-unpinned" "hive with its default waiting, its threads and the caller bound to no CPU";
        HiveC "hive-c" "hive with the loop bodies in C that OpenMP's threads run, by the same compiler";
        HiveBesideRayon "hive-beside-rayon" "hive, with a rayon pool of other threads beside it";
        ForkUnion "forkunion" "ForkUnion, a pool that always spins";
        RayonWorker "rayon-worker" "rayon, called from one of its workers";
        RayonOutside "rayon-outside" "rayon, called from outside its pool";
        RayonUnpinned "rayon-unpinned" "rayon-worker, its threads and the caller bound to no CPU";
        Chili "chili" "chili, joins that are shared at a heartbeat";
        Forte "forte" "Forte, joins that are shared at a heartbeat, too";
        Libfork "libfork" "libfork, joins of C++ coroutines on a pool whose threads sleep";
        Tbb "tbb" "oneTBB, loops and joins; a region is a loop, whose parts any thread may run";
        Citor "citor" "citor, a C++ pool for regions, loops and joins; at most a thread a core";
        StdScope "std-scope" "std::thread::scope: new threads for each region, placed by the kernel";
        Libgomp "libgomp" "OpenMP by gcc's runtime, default waiting";
        LibgompActive "libgomp-active" "the same with OMP_WAIT_POLICY=active";
        Libomp "libomp" "OpenMP by LLVM's runtime, default waiting";
        LibompActive "libomp-active" "the same with OMP_WAIT_POLICY=active";
        Sequential "sequential" "plain loops and plain calls on one thread";
        SequentialC "sequential-c" "plain loops in C, by the compiler that builds the OpenMP rival";
    }
}

impl RuntimeId {
    pub(crate) const fn is_hive(self) -> bool {
        let by_protocol = matches!(self, Self::Hive | Self::HiveSpin | Self::HiveTickle | Self::HiveNotify);
        by_protocol || matches!(self, Self::HiveDefault | Self::HiveUnpinned | Self::HiveC)
    }

    pub(crate) const fn is_rayon(self) -> bool {
        matches!(self, Self::RayonWorker | Self::RayonOutside | Self::RayonUnpinned)
    }

    pub(crate) const fn is_openmp(self) -> bool {
        matches!(self, Self::Libgomp | Self::LibgompActive | Self::Libomp | Self::LibompActive)
    }

    /// Whether it can do nothing else.
    pub(crate) const fn has_only_joins(self) -> bool {
        matches!(self, Self::Chili | Self::Forte | Self::Libfork)
    }

    /// Whether it runs something on each of its threads where that is asked for. TBB has only loops, whose parts any
    /// thread may run.
    pub(crate) fn has_regions(self) -> bool {
        !self.has_only_joins() && self != Self::Tbb
    }

    /// A baseline: one thread, and nothing that could be called a runtime.
    pub(crate) const fn is_sequential(self) -> bool {
        matches!(self, Self::Sequential | Self::SequentialC)
    }

    pub(crate) const fn is_libomp(self) -> bool {
        matches!(self, Self::Libomp | Self::LibompActive)
    }

    pub(crate) const fn waits_actively(self) -> bool {
        matches!(self, Self::LibgompActive | Self::LibompActive)
    }

    /// Whether the runtime's threads are all asleep, or there are none, when the program has done nothing for `gap`.
    /// GNU's OpenMP polls for some milliseconds, LLVM's for 200.
    pub(crate) fn sleeps_after(self, gap: Duration) -> bool {
        match self {
            Self::HiveSpin | Self::HiveBesideRayon | Self::ForkUnion | Self::Chili | Self::Forte => false,
            Self::LibgompActive | Self::LibompActive => false,
            Self::Libgomp => gap >= Duration::from_millis(20),
            Self::Libomp => gap > Duration::from_millis(200),
            _ => gap >= Duration::from_millis(1),
        }
    }

    /// Whether hive is ranked beside it in `case`. After idleness that leaves out whoever has kept a CPU busy all the
    /// while, if hive has not: its answer has been paid for otherwise. And an empty region has to reach every thread.
    pub(crate) fn is_rival(self, case: Case) -> bool {
        let has_polled = |gap| !self.sleeps_after(gap) && Self::Hive.sleeps_after(gap);
        let reaches_all = case != Case::Region || self.has_regions();
        reaches_all && !self.is_hive() && !self.is_sequential() && !case.idleness().is_some_and(has_polled)
    }

    /// Whether every thread stays on its CPU. The threads of std::thread::scope are new in each region and would have
    /// to pin themselves each time.
    pub(crate) const fn is_pinned(self) -> bool {
        !matches!(self, Self::StdScope) && !self.is_unpinned()
    }

    /// Whether it is a variant of a runtime in which not all threads are bound: at least the caller is not.
    pub(crate) const fn is_unpinned(self) -> bool {
        matches!(self, Self::HiveDefault | Self::HiveUnpinned | Self::RayonUnpinned)
    }

    /// The runtimes that are run where neither `--all` nor `--case` nor `--runtime` is given: hive and its rivals as
    /// programs use them.
    pub(crate) fn by_default() -> Vec<Self> {
        let of_hive = |runtime: &Self| runtime.is_hive() || *runtime == Self::HiveBesideRayon;
        let on_request = |runtime: &Self| of_hive(runtime) || *runtime == Self::StdScope || runtime.is_unpinned();
        let is_wanted = |runtime: &Self| *runtime == Self::Hive || !on_request(runtime);
        Self::ALL.iter().copied().filter(is_wanted).collect()
    }

    /// Whether measuring the runtime in `case` with so many threads shows anything. A single thread never waits, so in
    /// a kernel the runtimes that differ only in how they wait do the same.
    pub(crate) fn shows(self, case: Case, threads: usize) -> bool {
        let waits_otherwise = self == Self::HiveSpin || self.waits_actively();
        // citor makes no more threads.
        let has_size = self != Self::Citor || threads <= cpus::cores();
        has_size && self.can(case) && !(case.is_kernel() && threads == 1 && waits_otherwise)
    }

    /// Whether the runtime can do `case` at all, used as its documentation says.
    pub(crate) fn can(self, case: Case) -> bool {
        match self {
            Self::HiveC | Self::SequentialC => case.is_in_c(),
            _ if self.is_unpinned() => case.idleness().is_some(),
            _ if case.is_task() => self.can_task(case),
            _ => self.can_region(case),
        }
    }

    fn can_region(self, case: Case) -> bool {
        let regions_as_hive = matches!(self, Self::Hive | Self::HiveSpin);
        let any_size = regions_as_hive || self.is_openmp() || self == Self::StdScope;
        match case {
            Case::Barrier | Case::AlternatingSizes => any_size,
            Case::JacobiBarrier => any_size || self == Self::Sequential,
            Case::ResizeShrink | Case::ResizeGrow | Case::CpuParked => regions_as_hive,
            Case::IdleAsleep => self.is_hive() || self.is_rayon() || self == Self::ForkUnion,
            // New threads for each step: their METG is hardly shorter than a tenth of a millisecond.
            Case::FieldMetg if self == Self::StdScope => false,
            Case::RayonInterop => cfg!(feature = "rayon-interop") && matches!(self, Self::Hive | Self::HiveBesideRayon),
            Case::CallersTwoQueens => matches!(self, Self::Hive | Self::RayonOutside),
            _ if case.is_of_callers() => matches!(self, Self::Hive | Self::RayonOutside | Self::Sequential),
            // The caller would run all parts, and wake nobody.
            _ if case.gap().is_some() && self == Self::Tbb => false,
            _ if case.construct().is_some() => matches!(self, Self::Hive | Self::Libgomp | Self::Libomp),
            // Of the runtimes that never sleep, hive's and ForkUnion stand for all.
            _ if case.cold_loop().is_some() && self.waits_actively() => false,
            _ => match self {
                Self::HiveBesideRayon | Self::HiveTickle | Self::HiveNotify => false,
                _ if self.has_only_joins() => false,
                Self::Sequential => case.is_kernel() || case.cold_loop().is_some(),
                _ => true,
            },
        }
    }

    /// Tasks that a team spawns itself are measured with rayon called from a worker, tasks from outside with rayon
    /// called from outside.
    fn can_task(self, case: Case) -> bool {
        let openmp = matches!(self, Self::Libgomp | Self::Libomp);
        let others = matches!(self, Self::RayonWorker | Self::Tbb | Self::Citor | Self::Sequential);
        let joins = self.has_only_joins() || others;
        match case {
            Case::JoinTree | Case::JoinComb => joins || self == Self::Hive,
            _ if case.is_of_the_field() => joins || self == Self::Hive,
            Case::JoinFib => joins || openmp || self == Self::Hive,
            Case::TreeSearch => joins || openmp || self.is_hive(),
            Case::SpawnSingle => openmp || self.is_hive() || self == Self::RayonWorker,
            Case::SpawnProducers => self.is_hive() || self == Self::RayonWorker,
            _ => self.is_hive() || self == Self::RayonOutside,
        }
    }
}
