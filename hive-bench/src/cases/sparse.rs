//! Kernels on a sparse matrix, their answers checked.

use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::sparse::{Product, System};
use crate::results::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::solve::Solve;
use crate::timing;

/// Iterations before those that count.
const WARM_UP: u64 = 10;

pub(crate) fn spmv(runtime: &mut (impl Runtime + Kernels), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let mut product = Product::new(runtime, &job.given.matrix(&job.effort)?);
    measured.samples = timing::batches(&job.effort, |times| runtime.run(&mut product, times));
    product.answer().map(|_| ())
}

/// All iterations are one sample: the time of an iteration.
pub(crate) fn cg(runtime: &mut (impl Runtime + Solve), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let (largest_error, iterations) = (job.given.cg_error()?, job.effort.cg_iterations);
    let mut system = System::new(runtime, &job.given.matrix(&job.effort)?);
    runtime.solve(&mut system, WARM_UP)?;
    system.restart();
    super::awaken(runtime);
    let mut outcome = Ok(());
    let took = timing::nanoseconds(|| outcome = runtime.solve(&mut system, iterations));
    outcome?;
    measured.samples.push(took / iterations as f64);
    system.check(largest_error)
}
