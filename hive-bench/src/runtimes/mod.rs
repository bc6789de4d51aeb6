//! The runtimes that are measured, behind one interface. Each file is one runtime, used as its documentation says.

#[cfg(any(openmp_compiled, cpp_compiled))]
mod bodies;
pub(crate) mod chili;
#[cfg(feature = "forkunion")]
pub(crate) mod forkunion;
#[cfg(feature = "forte")]
pub(crate) mod forte;
pub(crate) mod hive;
pub(crate) mod loops;
#[cfg(cpp_compiled)]
pub(crate) mod native;
pub(crate) mod openmp;
pub(crate) mod rayon;
mod runtime;
pub(crate) mod sequential;
pub(crate) mod std_scope;
pub(crate) mod tasks;

use crate::catalog::RuntimeId;
pub(crate) use runtime::{Runtime, TeamThread, cannot};

/// Whether a runtime can be had here; if not, why.
pub(crate) fn availability(runtime: RuntimeId) -> Result<(), String> {
    let without = |feature| Err(format!("built without the feature {feature}"));
    match runtime {
        RuntimeId::ForkUnion if !cfg!(feature = "forkunion") => without("forkunion"),
        RuntimeId::Forte if !cfg!(feature = "forte") => without("forte"),
        RuntimeId::HiveBesideRayon if !cfg!(feature = "rayon-interop") => without("rayon-interop"),
        RuntimeId::Tbb if !cfg!(tbb_compiled) => Err(env!("HIVE_BENCH_BUILT_TBB").to_owned()),
        RuntimeId::Citor if !cfg!(citor_compiled) => Err(env!("HIVE_BENCH_BUILT_CITOR").to_owned()),
        RuntimeId::Libfork if !cfg!(libfork_compiled) => Err(env!("HIVE_BENCH_BUILT_LIBFORK").to_owned()),
        RuntimeId::SequentialC | RuntimeId::HiveC => openmp::compiled(),
        _ if runtime.is_openmp() => openmp::availability(runtime),
        _ => Ok(()),
    }
}
