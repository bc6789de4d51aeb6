//! The cases: everything that is timed.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;

use super::construct::Construct;

named! {
    /// The cases: everything that is timed.
    Case {
        Region "region" "an empty region";
        Reduce "reduce" "a region in which each thread gives a number, and their sum";
        Barrier "barrier" "a barrier inside a region";
        AlternatingSizes "alternating-sizes" "regions of 1, n, 1, n, ... threads, beside the mean of 1 and n";
        ResizeShrink "resize-shrink" "resize from n to 1, until the surplus bees are parked";
        ResizeGrow "resize-grow" "resize from 1 to n, until a region of n has run";
        Idle100us "idle-100us" "a region after 100 us of idleness, beside a bare hand-over";
        Idle2ms "idle-2ms" "a region after 2 ms of idleness, beside a bare hand-over";
        Idle20ms "idle-20ms" "a region after 20 ms of idleness, beside a bare hand-over";
        Idle200ms "idle-200ms" "a region after 200 ms of idleness, beside a bare hand-over";
        IdleAsleep "idle-asleep" "a region with all bees asleep, after 5 ms of idleness, beside a bare hand-over";
        ColdFor5us2ms "cold-for-5us-2ms"
            "a parallel loop of 5 us of work on one thread, after 2 ms of idleness, beside a bare post";
        ColdFor5us20ms "cold-for-5us-20ms" "the same of 5 us, after 20 ms";
        ColdFor5us200ms "cold-for-5us-200ms" "the same of 5 us, after 200 ms";
        ColdFor50us2ms "cold-for-50us-2ms" "the same of 50 us, after 2 ms";
        ColdFor50us20ms "cold-for-50us-20ms" "the same of 50 us, after 20 ms";
        ColdFor50us200ms "cold-for-50us-200ms" "the same of 50 us, after 200 ms";
        ColdFor500us2ms "cold-for-500us-2ms" "the same of 500 us, after 2 ms";
        ColdFor500us20ms "cold-for-500us-20ms" "the same of 500 us, after 20 ms";
        ColdFor500us200ms "cold-for-500us-200ms" "the same of 500 us, after 200 ms";
        CpuIdle "cpu-idle" "CPU time used from 1 s after the last region";
        CpuParked "cpu-parked" "CPU time used from resize(1) and wait_until_parked() on";
        Triad4k "triad-4k" "STREAM triad of 4,096 doubles, in a core's cache";
        Triad64k "triad-64k" "STREAM triad of 65,536 doubles, in cache";
        TriadMemory "triad-memory" "STREAM triad of 4,194,304 doubles, in memory";
        StreamCopy "stream-copy" "STREAM copy of 4,194,304 doubles, in memory";
        StreamScale "stream-scale" "STREAM scale of as many";
        StreamAdd "stream-add" "STREAM add of as many";
        Jacobi "jacobi" "a heat step on 512 x 512 cells, a region a step";
        JacobiBarrier "jacobi-barrier" "the same in one region, a barrier a step";
        RayonInterop "rayon-interop" "a region and a rayon par_iter sum of 4,096 doubles in turn: time a pair";
        Stencil7 "stencil7" "a seven-point step on 128 x 128 x 128 cells, a loop over planes a step";
        NbodyStatic "nbody-static" "a step of 512 bodies that attract each other: a loop for forces and one for moves";
        NbodyDynamic "nbody-dynamic" "the same, its bodies handed out one by one";
        Matmul "matmul" "a product of 512 x 512 doubles, its tiles handed out one by one";
        Mandelbrot "mandelbrot" "512 x 512 points of the Mandelbrot set, its rows handed out one by one";
        Dynamic1m "dynamic-1m" "a loop of 1,000,000 almost empty iterations, handed out one by one: time an iteration";
        Spmv "spmv" "a sparse matrix (of --matrix, or of 90,000 rows, quick: 3,600) times a vector";
        Cg "cg" "conjugate gradients on the same matrix, b being A times ones: time an iteration";
        EpccParallel "epcc-parallel" "EPCC: what a region costs beside a delay in it";
        EpccFor "epcc-for" "EPCC: a loop in a region, one iteration a thread, and its barrier";
        EpccParallelFor "epcc-parallel-for" "EPCC: the same with its region";
        EpccBarrier "epcc-barrier" "EPCC: a barrier";
        EpccSingle "epcc-single" "EPCC: what only one thread does, while the others wait";
        EpccOrdered "epcc-ordered" "EPCC: what is done in the order of a loop's iterations, an iteration";
        EpccReduction "epcc-reduction" "EPCC: a region with a sum over the threads";
        EpccStatic "epcc-static" "EPCC: a loop of 128 iterations a thread, by blocks";
        EpccStatic1 "epcc-static-1" "EPCC: the same, dealt round one by one";
        EpccDynamic1 "epcc-dynamic-1" "EPCC: the same, one by one to whoever comes";
        EpccGuided1 "epcc-guided-1" "EPCC: the same, in shrinking chunks";
        JoinFib "join-fib" "fib(30), with --quick fib(20), by recursive join down to n < 2: time a join";
        JoinTree "join-tree" "the sum over a balanced binary tree of 1,023 boxed nodes, a join a node: time a sum";
        JoinComb "join-comb" "the same over a list of 200 nodes, each with such a tree of 127 on its other side";
        SpawnSingle "spawn-single"
            "one thread spawns 1,000,000 empty tasks (quick: 20,000), until all ran: time a task";
        SpawnProducers "spawn-producers" "the same, a share of them from each of n threads at once: time a task";
        SpawnOutside "spawn-outside" "an outside thread spawns 100,000 tasks (quick: 5,000): time a task";
        TreeSearch "tree-search" "a search of an unbalanced tree, by joins over halves of the children: time a node";
        Wake10us "wake-10us" "from a spawn from outside to the task's start, after 10 us of idleness";
        Wake100us "wake-100us" "the same after 100 us of idleness";
        Wake1ms "wake-1ms" "the same after 1 ms of idleness";
        Wake20ms "wake-20ms" "the same after 20 ms of idleness";
        Wake200ms "wake-200ms" "the same after 200 ms of idleness";
        IdleUse1ms "idle-use-1ms" "CPU time used in the first millisecond after the last task";
        IdleUse10ms "idle-use-10ms" "CPU time used from 1 to 10 ms after the last task";
        IdleUse100ms "idle-use-100ms" "CPU time used from 10 to 100 ms after the last task";
        IdleUse1s "idle-use-1s" "CPU time used from 0.1 to 1 s after the last task, with --quick to 0.15 s";
        IdleUse2s "idle-use-2s" "CPU time used from 1 s after the last task on, with --quick from 0.15 s on";
        FieldFib "field-fib" "fib(39), with --quick fib(20), by recursive join: time of the whole";
        FieldQueens "field-queens" "all ways to place 14 queens (quick: 7), a board for each node: time of the whole";
        FieldSkynet "field-skynet"
            "the sum over 100,000,000 leaves (quick: 10,000), ten children a node: time of the whole";
        FieldMetg "field-metg" "Task Bench's METG(50 %): the shortest task, one a thread and region, that pays by half";
        CallersLightP50 "callers-light-p50"
            "four request threads, a sum of 8.6 us each about every millisecond: median latency";
        CallersLightP99 "callers-light-p99" "the same: latency that 99 % of the requests do not exceed";
        CallersLightCpu "callers-light-cpu" "the same: CPU time of the whole process for each request";
        CallersSaturatedP50 "callers-saturated-p50"
            "four request threads, sums of 0.86 ms back to back: median latency";
        CallersSaturatedP99 "callers-saturated-p99" "the same: latency that 99 % of the requests do not exceed";
        CallersSaturatedTime "callers-saturated-time" "the same: time for each request, of all four threads together";
        CallersTwoQueens "callers-two-queens"
            "two threads, regions of 0.2 ms back to back: the most of one that end while one of the other is under way";
    }
}

names! {
    /// What a case's figure is.
    Unit {
        /// Nanoseconds for one region, barrier, resize, step, join, task or node.
        Nanoseconds "time";
        /// CPU time in percent of one CPU.
        PercentOfCpu "CPU use";
        /// Regions of one caller while another waits.
        Regions "regions in a row";
    }
}

impl Case {
    /// The cases of one family, in order of the gap or window where they have one.
    pub(crate) fn all_of(family: &str) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |case| case.family() == family)
    }

    /// The common name of the cases that belong together with this one.
    pub(crate) fn family(self) -> &'static str {
        let name = self.name();
        let long = ["idle-use", "cold-for"].into_iter().find(|family| name.starts_with(family));
        long.unwrap_or_else(|| name.split_once('-').map_or(name, |(family, _)| family))
    }

    pub(crate) fn unit(self) -> Unit {
        match self.family() {
            "cpu" | "idle-use" => Unit::PercentOfCpu,
            _ if self == Self::CallersTwoQueens => Unit::Regions,
            _ => Unit::Nanoseconds,
        }
    }

    /// The time that the name ends in.
    fn time_after(self, prefix: &str) -> Option<Duration> {
        humantime::parse_duration(self.name().strip_prefix(prefix)?).ok()
    }

    /// How long the program does nothing before the region, in the idle cases.
    pub(crate) fn gap(self) -> Option<Duration> {
        if self == Self::IdleAsleep { Some(Duration::from_millis(5)) } else { self.time_after("idle-") }
    }

    /// How long the loop takes on one thread, and after how much idleness, in the cold-for cases.
    pub(crate) fn cold_loop(self) -> Option<(Duration, Duration)> {
        let (work, gap) = self.name().strip_prefix("cold-for-")?.split_once('-')?;
        let time = |text| humantime::parse_duration(text).ok();
        Some((time(work)?, time(gap)?))
    }

    /// How long there is nothing to do before the task, in the wake cases.
    pub(crate) fn wake_gap(self) -> Option<Duration> {
        self.time_after("wake-")
    }

    /// How long the program does nothing before what is timed by its own thread: a region or a loop.
    pub(crate) fn idleness(self) -> Option<Duration> {
        self.gap().or_else(|| self.cold_loop().map(|(_, gap)| gap))
    }

    /// How long the loop takes on one thread, in the cases whose work is given as a time. A region of the two queens is
    /// about equally long for teams of all sizes.
    pub(crate) fn work(self, threads: usize) -> Option<Duration> {
        match self {
            Self::CallersLightP50 | Self::CallersLightP99 | Self::CallersLightCpu => Some(Duration::from_nanos(8600)),
            Self::CallersTwoQueens => Some(Duration::from_micros(200) * u32::try_from(threads).unwrap_or(u32::MAX)),
            _ if self.is_of_callers() => Some(Duration::from_micros(860)),
            _ => self.cold_loop().map(|(work, _)| work),
        }
    }

    /// The construct whose overhead is measured. The EPCC cases are in the order of the constructs.
    pub(crate) fn construct(self) -> Option<Construct> {
        Construct::value_variants().get((self as usize).checked_sub(Self::EpccParallel as usize)?).copied()
    }

    /// Doubles in each array, in the triad cases.
    pub(crate) const fn triad_len(self) -> Option<usize> {
        match self {
            Self::Triad4k => Some(1 << 12),
            Self::Triad64k => Some(1 << 16),
            Self::TriadMemory => Some(1 << 22),
            _ => None,
        }
    }

    /// Whether it is a kernel made of steps of parallel loops. For OpenMP these kernels are entirely in C.
    pub(crate) fn is_of_loops(self) -> bool {
        matches!(self.family(), "stream" | "stencil7" | "nbody" | "matmul" | "mandelbrot" | "dynamic")
    }

    /// Whether several threads of the program call one team at the same time.
    pub(crate) fn is_of_callers(self) -> bool {
        self.family() == "callers"
    }

    /// The cases that are run where neither `--all` nor `--case` is given: those that a user would choose a runtime by.
    pub(crate) fn by_default() -> Vec<Self> {
        let names = "region,reduce,barrier,idle-2ms,idle-20ms,idle-asleep,cpu-idle,triad-64k,jacobi,stencil7,\
            nbody-static,matmul,mandelbrot,dynamic-1m,cg,join-fib,join-tree,spawn-single,tree-search,wake-1ms,\
            wake-20ms";
        Self::ALL.iter().copied().filter(|case| names.split(',').any(|name| name == case.name())).collect()
    }

    /// Whether it works on a sparse matrix. For OpenMP these kernels are entirely in C, too.
    pub(crate) const fn is_sparse(self) -> bool {
        matches!(self, Self::Spmv | Self::Cg)
    }

    /// Whether its loops are also written in C.
    pub(crate) fn is_in_c(self) -> bool {
        self.is_of_loops() || self.is_sparse() || self.cold_loop().is_some()
    }

    /// Whether it is measured elsewhere at the same size, so that its time can be laid beside published ones.
    pub(crate) fn is_of_the_field(self) -> bool {
        self.family() == "field"
    }

    pub(crate) fn is_kernel(self) -> bool {
        self.is_of_loops() || self.is_sparse() || matches!(self.family(), "triad" | "jacobi")
    }

    /// Whether it is done by joins, or by plain calls.
    pub(crate) fn is_recursion(self) -> bool {
        matches!(self.family(), "join" | "tree") || self.is_of_the_field() && self != Self::FieldMetg
    }

    /// Whether it is done by tasks, not by regions.
    pub(crate) fn is_task(self) -> bool {
        self.is_recursion() || matches!(self.family(), "spawn" | "wake" | "idle-use")
    }

    /// Whether the case says anything about a team of `threads` on a machine that offers `most`.
    pub(crate) fn has_size(self, threads: usize, most: usize) -> bool {
        match self.family() {
            "region" | "reduce" | "barrier" => true,
            "resize" | "cpu" | "idle-use" | "epcc" | "callers" | "field" => threads == most && threads > 1,
            _ if self.is_of_loops() || self.is_sparse() => threads == most || threads == 1,
            _ => threads > 1 || self.is_kernel() || self.is_recursion() || self == Self::SpawnSingle,
        }
    }
}

/// What a name of `--case` stands for: one case, or all whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family(pub(crate) Vec<Case>);

impl FromStr for Family {
    type Err = String;

    /// A whole name stands for that case alone, even if the names of other cases go on from it with a dash.
    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(case) = Case::ALL.iter().find(|case| case.name() == name) {
            return Ok(Self(vec![*case]));
        }
        let goes_on = |case: &Case| case.name().strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let family: Vec<Case> = Case::ALL.iter().copied().filter(goes_on).collect();
        if family.is_empty() {
            let names: Vec<_> = Case::ALL.iter().map(|case| case.name()).collect();
            return Err(format!("no such case; there are {}, and their names up to a dash", names.join(", ")));
        }
        Ok(Self(family))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(name: &str) -> Vec<Case> {
        name.parse::<Family>().unwrap().0
    }

    #[test]
    fn a_name_up_to_a_dash_is_all_that_begin_so() {
        assert_eq!(family("join"), [Case::JoinFib, Case::JoinTree, Case::JoinComb]);
        assert_eq!(family("wake"), Case::all_of("wake").collect::<Vec<_>>());
        assert_eq!((family("idle-use").len(), family("spawn").len()), (5, 3));
        assert!(family("idle").starts_with(&[Case::Idle100us]) && family("idle").ends_with(&family("idle-use")));
    }

    #[test]
    fn a_whole_name_is_one_case() {
        assert_eq!(family("jacobi"), [Case::Jacobi]);
        assert_eq!(family("wake-1ms"), [Case::Wake1ms]);
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_all_names() {
        for wrong in ["regoin", "", "wak", "wake-", "wake-1"] {
            let error = wrong.parse::<Family>().unwrap_err();
            assert!(error.contains("region") && error.contains("tree-search"), "{error}");
        }
    }

    #[test]
    fn times_are_those_of_the_names() {
        assert_eq!(Case::Idle100us.gap(), Some(Duration::from_micros(100)));
        assert_eq!((Case::IdleUse1ms.gap(), Case::Wake20ms.wake_gap()), (None, Some(Duration::from_millis(20))));
        let cold = (Duration::from_micros(50), Duration::from_millis(200));
        assert_eq!(Case::ColdFor50us200ms.cold_loop(), Some(cold));
    }

    #[test]
    fn constructs_are_those_of_the_epcc_cases() {
        let constructs: Vec<_> = Case::ALL.iter().filter_map(|case| case.construct()).collect();
        assert_eq!(constructs, Construct::value_variants());
        assert_eq!(Case::EpccGuided1.construct(), Some(Construct::Guided1));
        assert!(Case::all_of("epcc").all(|case| case.construct().is_some()));
    }
}
