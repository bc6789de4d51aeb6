//! What can be measured: every case and every runtime, with its name and its limits.

/// Gives a field-less enum its list, and a name for each of its values.
macro_rules! names {
    ($(#[$of:meta])* $type:ident { $($(#[$of_variant:meta])* $variant:ident $name:literal;)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) enum $type { $($(#[$of_variant])* $variant,)* }

        impl $type {
            #[allow(dead_code, reason = "not each list is asked for")]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}
pub(crate) use names;

/// The same with help, and with the name on the command line and in the results, too.
macro_rules! named {
    ($(#[$of:meta])* $type:ident { $($variant:ident $name:literal $help:literal;)* }) => {
        crate::catalog::names! {
            $(#[$of])*
            #[derive(serde::Serialize, serde::Deserialize)]
            $type { $(#[doc = $help] #[serde(rename = $name)] $variant $name;)* }
        }

        impl $type {
            #[allow(dead_code, reason = "not each one is asked for")]
            pub(crate) const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }

        impl clap::ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                Self::ALL
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                Some(clap::builder::PossibleValue::new(self.name()).help(self.help()))
            }
        }
    };
}

pub(crate) use named;

mod case;
mod construct;
mod runtime;

pub(crate) use case::{Case, Family, Unit};
pub(crate) use construct::{Construct, Delay, ITERATIONS, work};
pub(crate) use runtime::RuntimeId;

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

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
    fn only_hive_resizes_and_sequential_has_only_plain_loops_and_calls() {
        for runtime in RuntimeId::ALL {
            assert_eq!(runtime.can(Case::ResizeShrink), matches!(runtime, RuntimeId::Hive | RuntimeId::HiveSpin));
        }
        for case in Case::ALL {
            let cold = case.cold_loop().is_some();
            let alone = case.is_kernel() || case.is_recursion() || cold;
            let requests = case.is_of_callers() && *case != Case::CallersTwoQueens;
            assert_eq!(RuntimeId::Sequential.can(*case), alone || requests, "{case:?}");
            for runtime in [RuntimeId::SequentialC, RuntimeId::HiveC] {
                assert_eq!(runtime.can(*case), case.is_of_loops() || case.is_sparse() || cold, "{runtime:?} {case:?}");
            }
        }
    }

    #[test]
    fn unbound_runtimes_are_measured_after_idleness_only() {
        for case in Case::ALL {
            for runtime in [RuntimeId::HiveDefault, RuntimeId::HiveUnpinned, RuntimeId::RayonUnpinned] {
                assert_eq!(runtime.can(*case), case.idleness().is_some(), "{runtime:?} {case:?}");
            }
        }
    }

    #[test]
    fn rivals_without_regions_have_joins_or_loops() {
        for case in Case::ALL {
            for runtime in [RuntimeId::Chili, RuntimeId::Forte, RuntimeId::Libfork] {
                assert_eq!(runtime.can(*case), case.is_recursion(), "{runtime:?} {case:?}");
            }
            let of_idle_regions = case.gap().is_some();
            assert_eq!(RuntimeId::Tbb.can(*case), RuntimeId::Citor.can(*case) && !of_idle_regions, "{case:?}");
            assert!(!case.is_recursion() || RuntimeId::Tbb.can(*case), "{case:?}");
        }
        assert!(RuntimeId::Tbb.is_rival(Case::Reduce) && !RuntimeId::Tbb.is_rival(Case::Region));
        assert!(!RuntimeId::Citor.shows(Case::Region, 1 << 20), "more threads than cores");
    }

    #[test]
    fn callers_are_measured_with_pools_that_several_threads_may_call() {
        for case in Case::ALL.iter().copied().filter(|case| case.is_of_callers()) {
            let able: Vec<_> = RuntimeId::ALL.iter().copied().filter(|runtime| runtime.can(case)).collect();
            assert!(able.starts_with(&[RuntimeId::Hive, RuntimeId::RayonOutside]), "{case:?}: {able:?}");
            assert_eq!(able.len(), if case == Case::CallersTwoQueens { 2 } else { 3 }, "{case:?}: {able:?}");
        }
    }

    #[test]
    fn hive_s_protocols_are_measured_beside_each_other() {
        for case in Case::ALL.iter().filter(|case| case.is_task() && !matches!(case.family(), "join" | "field")) {
            let of_regions_only = |runtime: RuntimeId| runtime.is_unpinned() || runtime == RuntimeId::HiveC;
            for runtime in RuntimeId::ALL.iter().filter(|runtime| runtime.is_hive() && !of_regions_only(**runtime)) {
                assert!(runtime.can(*case), "{runtime:?} {case:?}");
            }
            let rayon = [RuntimeId::RayonWorker, RuntimeId::RayonOutside];
            assert_eq!(rayon.iter().filter(|rayon| rayon.can(*case)).count(), 1, "{case:?}");
        }
    }
}
