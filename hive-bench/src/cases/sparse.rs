//! Kernels on a sparse matrix, their answers checked.

use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::sparse::{Product, System};
use crate::measure::timing;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::solve::Solve;

/// Iterations before those that count.
const WARM_UP: u64 = 10;

pub(crate) fn spmv(runtime: &mut (impl Runtime + Kernels), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let mut product = Product::new(runtime, &job.given.matrix(&job.budget)?);
    measured.samples = timing::batches(&job.budget, |times| runtime.run(&mut product, times));
    product.answer().map(|_| ())
}

/// All iterations are one sample: the time of an iteration.
pub(crate) fn cg(runtime: &mut (impl Runtime + Solve), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let (largest_error, iterations) = (job.given.cg_error()?, job.budget.cg_iterations);
    let mut system = System::new(runtime, &job.given.matrix(&job.budget)?);
    runtime.solve(&mut system, WARM_UP)?;
    system.restart();
    super::warm_up::awaken(runtime);
    let mut outcome = Ok(());
    let took = timing::nanoseconds(|| outcome = runtime.solve(&mut system, iterations));
    outcome?;
    measured.samples.push(took / iterations as f64);
    system.check(largest_error)
}
