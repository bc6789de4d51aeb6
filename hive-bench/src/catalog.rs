//! What can be measured, and by whom: every case and every runtime, with its name and its limits.

use std::time::Duration;

use clap::{ValueEnum, builder::PossibleValue};
use serde::{Deserialize, Serialize};

/// Gives a field-less enum its list, and one name for the command line, the tables and the results.
macro_rules! named {
    ($(#[$of:meta])* $type:ident { $($variant:ident $name:literal $help:literal;)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) enum $type {
            $(#[doc = $help] #[serde(rename = $name)] $variant,)*
        }

        impl $type {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub(crate) const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }

        impl ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                Self::ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.name()).help(self.help()))
            }
        }
    };
}

named! {
    /// What is timed.
    Case {
        Region "region" "an empty region";
        Reduce "reduce" "a region in which each member gives a number, and their sum";
        Barrier "barrier" "a barrier inside a region";
        Alternate "alternate" "regions of 1, n, 1, n, ... members, beside the mean of 1 and n";
        Shrink "shrink" "resize from n to 1, until the surplus bees are parked";
        Grow "grow" "resize from 1 to n, until a region of n has run";
        Idle100us "idle-100us" "a region after 100 us of idleness, beside a bare hand-over";
        Idle2ms "idle-2ms" "a region after 2 ms of idleness, beside a bare hand-over";
        Idle20ms "idle-20ms" "a region after 20 ms of idleness, beside a bare hand-over";
        Idle200ms "idle-200ms" "a region after 200 ms of idleness, beside a bare hand-over";
        CpuIdle "cpu-idle" "CPU time used from 1 s after the last region";
        CpuParked "cpu-parked" "CPU time used from resize(1) and settle() on";
        Triad4k "triad-4k" "STREAM triad of 4,096 doubles, in a core's cache";
        Triad64k "triad-64k" "STREAM triad of 65,536 doubles, in cache";
        TriadMemory "triad-memory" "STREAM triad of 4,194,304 doubles, in memory";
        Jacobi "jacobi" "a heat step on 512 x 512 cells, a region a step";
        JacobiBarrier "jacobi-barrier" "the same in one region, a barrier a step";
    }
}

named! {
    /// Who is timed.
    RuntimeId {
        Hive "hive" "hive with its default waiting";
        HiveHot "hive-hot" "hive with unbounded spinning";
        ForkUnion "forkunion" "ForkUnion, a pool that always spins";
        RayonWorker "rayon-worker" "rayon, called from one of its workers";
        RayonOutside "rayon-outside" "rayon, called from outside its pool";
        StdScope "std-scope" "std::thread::scope: new threads for each region, placed by the kernel";
        Libgomp "libgomp" "OpenMP by gcc's runtime, default waiting";
        LibgompActive "libgomp-active" "the same with OMP_WAIT_POLICY=active";
        Libomp "libomp" "OpenMP by LLVM's runtime, default waiting";
        LibompActive "libomp-active" "the same with OMP_WAIT_POLICY=active";
        Sequential "sequential" "the kernels as plain loops on one thread";
    }
}

/// What a case's figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds for one region, barrier, resize or step.
    Nanoseconds,
    /// CPU time in percent of one CPU.
    PercentOfCpu,
}

impl Case {
    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::CpuIdle | Self::CpuParked => Unit::PercentOfCpu,
            _ => Unit::Nanoseconds,
        }
    }

    /// How long the program does nothing before the region, in the idle cases.
    pub(crate) const fn gap(self) -> Option<Duration> {
        match self {
            Self::Idle100us => Some(Duration::from_micros(100)),
            Self::Idle2ms => Some(Duration::from_millis(2)),
            Self::Idle20ms => Some(Duration::from_millis(20)),
            Self::Idle200ms => Some(Duration::from_millis(200)),
            _ => None,
        }
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

    pub(crate) const fn is_jacobi(self) -> bool {
        matches!(self, Self::Jacobi | Self::JacobiBarrier)
    }

    pub(crate) const fn is_kernel(self) -> bool {
        self.triad_len().is_some() || self.is_jacobi()
    }

    /// Whether the case says anything about a team of `members` on a machine that offers `most`.
    pub(crate) const fn has_size(self, members: usize, most: usize) -> bool {
        match self {
            Self::Region | Self::Reduce | Self::Barrier => true,
            Self::Shrink | Self::Grow | Self::CpuIdle | Self::CpuParked => members == most && members > 1,
            _ => members > 1 || self.is_kernel(),
        }
    }
}

impl RuntimeId {
    pub(crate) const fn is_hive(self) -> bool {
        matches!(self, Self::Hive | Self::HiveHot)
    }

    pub(crate) const fn is_openmp(self) -> bool {
        matches!(self, Self::Libgomp | Self::LibgompActive | Self::Libomp | Self::LibompActive)
    }

    pub(crate) const fn is_libomp(self) -> bool {
        matches!(self, Self::Libomp | Self::LibompActive)
    }

    pub(crate) const fn waits_actively(self) -> bool {
        matches!(self, Self::LibgompActive | Self::LibompActive)
    }

    /// Whether the runtime's threads are all asleep when the program has done nothing for `gap`.
    pub(crate) fn sleeps_after(self, gap: Duration) -> bool {
        let sleeps_at_last = matches!(self, Self::Hive | Self::RayonWorker | Self::RayonOutside | Self::StdScope);
        sleeps_at_last && gap >= Duration::from_millis(1)
    }

    /// Whether every member stays on its CPU. Threads made anew would have to pin themselves each time.
    pub(crate) const fn is_pinned(self) -> bool {
        !matches!(self, Self::StdScope)
    }

    /// Whether the runtime can do `case` at all, the way its documentation has it.
    pub(crate) const fn can(self, case: Case) -> bool {
        let any_size = self.is_hive() || self.is_openmp() || matches!(self, Self::StdScope);
        match case {
            Case::Barrier | Case::Alternate => any_size,
            Case::JacobiBarrier => any_size || matches!(self, Self::Sequential),
            Case::Shrink | Case::Grow | Case::CpuParked => self.is_hive(),
            _ => !matches!(self, Self::Sequential) || case.is_kernel(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_for_all_uses() {
        for case in Case::ALL {
            assert_eq!(serde_json::to_string(case).unwrap(), format!("\"{}\"", case.name()));
            assert_eq!(Case::from_str(case.name(), false).unwrap(), *case);
        }
        for runtime in RuntimeId::ALL {
            assert_eq!(serde_json::to_string(runtime).unwrap(), format!("\"{}\"", runtime.name()));
        }
    }

    #[test]
    fn only_hive_resizes_and_sequential_has_only_kernels() {
        for runtime in RuntimeId::ALL {
            assert_eq!(runtime.can(Case::Shrink), runtime.is_hive());
        }
        for case in Case::ALL {
            assert_eq!(RuntimeId::Sequential.can(*case), case.is_kernel());
        }
    }
}
