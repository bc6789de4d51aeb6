//! The runtimes that are measured, behind one interface. Each file is one runtime, used as its documentation says.

pub(crate) mod chili;
#[cfg(feature = "forkunion")]
pub(crate) mod forkunion;
pub(crate) mod hive;
pub(crate) mod loops;
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
    match runtime {
        RuntimeId::ForkUnion if !cfg!(feature = "forkunion") => Err("built without the feature forkunion".to_owned()),
        RuntimeId::HiveBesideRayon if !cfg!(feature = "rayon-interop") => {
            Err("built without the feature rayon-interop".to_owned())
        }
        RuntimeId::SequentialC | RuntimeId::HiveC => openmp::compiled(),
        _ if runtime.is_openmp() => openmp::availability(runtime),
        _ => Ok(()),
    }
}
