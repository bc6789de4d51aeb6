//! OpenMP, written in C as its users write it (`c/openmp.c`). The environment of the runner decides which library runs
//! it, and how its threads wait and are placed.

#[cfg(openmp_compiled)]
mod team;

use crate::catalog::RuntimeId;
use crate::system::start;

#[cfg(openmp_compiled)]
pub(crate) use team::{OpenMp, library};

/// Whether the C files were compiled into this program.
pub(crate) fn compiled() -> Result<(), String> {
    if cfg!(openmp_compiled) { Ok(()) } else { Err(env!("HIVE_BENCH_BUILT_OPENMP").to_owned()) }
}

/// Whether `runtime` is present. Starts this program once more with the environment of the runtime, and asks the loader
/// there.
pub(crate) fn availability(runtime: RuntimeId) -> Result<(), String> {
    compiled()?;
    expect_library(runtime, &start::ask("openmp-library", &environment(runtime, &[0]))?)
}

/// LLVM's library under the name by which the loader finds it; it stands in for gcc's.
const LIBOMP: &str = "libomp.so.5";

/// The variables by which the loader takes this runtime's library.
pub(crate) fn preloaded(runtime: RuntimeId) -> Option<(&'static str, String)> {
    runtime.is_libomp().then(|| ("LD_PRELOAD", LIBOMP.to_owned()))
}

/// The variables that a runner with this runtime gets.
pub(crate) fn environment(runtime: RuntimeId, cpus: &[usize]) -> Vec<(&'static str, String)> {
    let mut variables = vec![("OMP_NUM_THREADS", cpus.len().to_string()), ("OMP_DYNAMIC", "false".to_owned())];
    if runtime.waits_actively() {
        variables.push(("OMP_WAIT_POLICY", "active".to_owned()));
    }
    variables.extend(preloaded(runtime));
    // With either library each thread gets one CPU, in the order of use.
    if runtime.is_libomp() {
        // Not OMP_PLACES: libgomp is still loaded, and would at once bind the main thread to the first place; libomp
        // would take that for all the CPUs there are.
        let affinity = format!("granularity=fine,explicit,proclist=[{}]", list(cpus, |cpu| cpu.to_string()));
        variables.push(("KMP_AFFINITY", affinity));
    } else {
        variables.push(("OMP_PROC_BIND", "true".to_owned()));
        variables.push(("OMP_PLACES", list(cpus, |cpu| format!("{{{cpu}}}"))));
    }
    variables
}

fn list(cpus: &[usize], name: impl Fn(&usize) -> String) -> String {
    cpus.iter().map(name).collect::<Vec<_>>().join(",")
}

/// The loader does not treat a failed preload as an error, so this checks which library it loaded.
fn expect_library(runtime: RuntimeId, library: &str) -> Result<(), String> {
    let wanted = if runtime.is_libomp() { "libomp" } else { "libgomp" };
    if library.contains(wanted) {
        Ok(())
    } else if runtime.is_libomp() {
        Err(format!("{LIBOMP} is not installed (the loader gives {library})"))
    } else {
        Err(format!("this program was linked with {library}, not libgomp"))
    }
}
