//! OpenMP, written in C as its users write it (`c/openmp.c`). The environment of the runner decides which library runs
//! it, and how its threads wait and are placed.

use crate::catalog::RuntimeId;

mod environment;
#[cfg(openmp_compiled)]
mod team;
#[cfg(openmp_compiled)]
pub(crate) use team::{OpenMp, library};

pub(crate) use environment::environment;
#[cfg(openmp_compiled)]
use environment::expect_library;

/// Whether the C files were compiled into this program.
pub(crate) fn compiled() -> Result<(), String> {
    if cfg!(openmp_compiled) { Ok(()) } else { Err(env!("HIVE_BENCH_OPENMP").to_owned()) }
}

/// Whether `runtime` is present. Starts this program once more with the environment of the runtime, and asks the loader
/// there.
#[cfg(openmp_compiled)]
pub(crate) fn availability(runtime: RuntimeId) -> Result<(), String> {
    let library = crate::system::start::ask("openmp-library", &environment(runtime, &[0]))?;
    expect_library(runtime, &library)
}

/// Whether `runtime` is present: without the C files it is not.
#[cfg(not(openmp_compiled))]
pub(crate) fn availability(_runtime: RuntimeId) -> Result<(), String> {
    compiled()
}

/// Nothing was compiled against OpenMP.
#[cfg(not(openmp_compiled))]
pub(crate) fn library() -> Result<String, String> {
    Err(env!("HIVE_BENCH_OPENMP").to_owned())
}
