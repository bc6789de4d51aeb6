//! Real work in small regions, its answer checked.

use crate::kernels::disjoint::Disjoint;
use crate::kernels::triad::{Triad, b_at, c_at};
use crate::kernels::{jacobi as heat, split};
use crate::measure::timing;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;

/// Heat steps before the plates are set up for the run that counts.
const WARM_UP_STEPS: u64 = 20;

pub(crate) fn triad(runtime: &mut impl Runtime, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let len = job.case.triad_len().ok_or("this case has no arrays")?;
    let mut arrays = triad_of(runtime, len);
    measured.samples = timing::batches(&job.budget, |times| runtime.triads(times, &mut arrays));
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
    let steps = job.budget.jacobi_steps;
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

/// Arrays whose memory each thread has touched first where it will work.
fn triad_of(runtime: &mut impl Runtime, len: usize) -> Triad {
    let mut arrays = Triad { a: vec![0.0; len], b: vec![0.0; len], c: vec![0.0; len] };
    let threads = runtime.threads();
    let (a, b, c) = (Disjoint::new(&mut arrays.a), Disjoint::new(&mut arrays.b), Disjoint::new(&mut arrays.c));
    runtime.region(threads, |id| {
        let range = split(id, threads, len);
        // SAFETY: `split` gives each thread a part of its own.
        #[allow(unsafe_code)]
        let (a, b, c) =
            (unsafe { a.part(range.clone()) }, unsafe { b.part(range.clone()) }, unsafe { c.part(range.clone()) });
        a.fill(-1.0);
        b.iter_mut().zip(range.clone()).for_each(|(b, i)| *b = b_at(i));
        c.iter_mut().zip(range).for_each(|(c, i)| *c = c_at(i));
    });
    arrays
}
