//! Real work in small regions, its answer checked.

use crate::kernels::{jacobi as heat, triad as stream};
use crate::results::{Job, Measured};
use crate::runtimes::Runtime;
use crate::timing;

/// Heat steps before the plates are set up for the run that counts.
const WARM_UP_STEPS: u64 = 20;

pub(crate) fn triad(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let len = job.case.triad_len().ok_or("this case has no arrays")?;
    let mut arrays = stream::Triad::new(runtime, len);
    measured.samples = timing::batches(&job.effort, |times| runtime.triads(times, &mut arrays));
    arrays.check()
}

pub(crate) fn jacobi(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    heat_run(job, measured, |steps, plates| {
        runtime.jacobi(steps, plates);
        Ok(())
    })
}

pub(crate) fn jacobi_barrier(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    heat_run(job, measured, |steps, plates| runtime.jacobi_one_region(steps, plates))
}

/// All steps are one sample: the time of a step.
fn heat_run(
    job: &Job,
    measured: &mut Measured,
    mut run: impl FnMut(u64, &mut heat::Plates) -> Result<(), String>,
) -> Result<(), String> {
    let steps = job.effort.jacobi_steps;
    run(WARM_UP_STEPS, &mut heat::Plates::new())?;
    let mut plates = heat::Plates::new();
    let mut outcome = Ok(());
    let took = timing::nanoseconds(|| outcome = run(steps, &mut plates));
    outcome?;
    measured.samples.push(took / steps as f64);
    let checksum = plates.checksum(steps);
    match job.checksum {
        Some(expected) if expected != checksum => {
            Err(format!("wrong answer: the plate's checksum is {checksum:#x}, not {expected:#x}"))
        }
        _ => Ok(()),
    }
}
