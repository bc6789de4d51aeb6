//! Which runtimes there are on this machine, in this build.

use super::{forkunion, openmp};
use crate::catalog::RuntimeId;

/// Whether a runtime can be had here; if not, why.
pub(crate) fn availability(runtime: RuntimeId) -> Result<(), String> {
    match runtime {
        RuntimeId::ForkUnion => forkunion::availability(),
        RuntimeId::HiveBesideRayon if !cfg!(feature = "rayon-interop") => {
            Err("built without the feature rayon-interop".to_owned())
        }
        RuntimeId::SequentialC | RuntimeId::HiveC => openmp::compiled(),
        _ if runtime.is_openmp() => openmp::availability(runtime),
        _ => Ok(()),
    }
}
