//! Has one job done by a runner, a process of its own.

use std::time::{Duration, Instant};

use crate::record::{Job, Measured, Outcome};
use crate::run::own_process;
use crate::runtimes::openmp;
use crate::system::machine;

/// Runs one job. Returns how it ended and how many seconds it took.
pub(crate) fn run(job: &Job) -> (Outcome, f64) {
    let begin = Instant::now();
    let outcome = run_job(job).map_or_else(Outcome::Failed, Outcome::Measured);
    (outcome, begin.elapsed().as_secs_f64())
}

fn run_job(job: &Job) -> Result<Measured, String> {
    let environment = match job.runtime {
        runtime if runtime.is_openmp() => openmp::environment(runtime, &job.cpus[..job.threads]),
        _ => Vec::new(),
    };
    own_process::ask_within("runner", job, &environment, time_limit(job))
}

/// After this the runner is killed. It is ten times what a slow runtime takes for the longest case, or for its matrix,
/// and more where other programs want the CPUs, too, or in a guest of `tests/numa/run`, where every instruction may be
/// emulated.
fn time_limit(job: &Job) -> Duration {
    let emulated = std::env::var_os("HIVE_TEST_GUEST").is_some();
    let matrix =
        if job.case.is_sparse() { Duration::from_nanos(600 * job.budget.matrix_nonzeros) } else { Duration::ZERO };
    (Duration::from_mins(1) + matrix) * if emulated { 30 } else { machine::runnable_per_cpu() }
}
