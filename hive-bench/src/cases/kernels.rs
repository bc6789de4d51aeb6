//! Real work in small regions and loops, its answer checked.

use super::{Samples, awaken, check};
use crate::catalog::Case;
use crate::kernels::handing_out::HandingOut;
use crate::kernels::jacobi as heat;
use crate::kernels::kernel::Kernel;
use crate::kernels::mandelbrot::Mandelbrot;
use crate::kernels::matmul::Matmul;
use crate::kernels::nbody::{Nbody, Schedule};
use crate::kernels::sparse::{Product, System};
use crate::kernels::stencil::Stencil;
use crate::kernels::stream::{Operation, Stream, Triad};
use crate::measure::timing;
use crate::record::{Budget, Job};
use crate::runtimes::Runtime;
use crate::runtimes::loops::Loops;
use crate::runtimes::sequential::Sequential;

/// Doubles in each of STREAM's arrays.
const STREAM_LEN: usize = 1 << 22;
/// Heat steps before the plates are set up for the run that counts.
const WARM_UP_STEPS: u64 = 20;
/// Iterations of conjugate gradients before those that count.
const WARM_UP_ITERATIONS: u64 = 10;

/// Nanoseconds for a unit of the kernel, and the answer.
type Done = Result<(Vec<f64>, u64), String>;

pub(super) fn run(runtime: &mut (impl Runtime + Loops), job: &Job) -> Samples {
    let (samples, answer) = match job.case {
        Case::Jacobi => heat_run(&job.budget, |steps, plates| plates.run(runtime, steps)),
        Case::JacobiBarrier => heat_run(&job.budget, |steps, plates| plates.run_in_one_region(runtime, steps)),
        Case::Spmv => return spmv(runtime, job),
        Case::Cg => return cg(runtime, job),
        case if case.triad_len().is_some() => return triad(runtime, job),
        case => steps(runtime, case, &job.budget)?,
    };
    check("the checksum", answer, job.checksum.unwrap_or(answer))?;
    Ok(samples)
}

/// The right answer of the case, computed by plain loops. `None` for cases that are no such kernel, and for kernels
/// whose answer alone shows whether it is right. The driver asks once for all runners.
pub(crate) fn expected_checksum(case: Case, budget: &Budget) -> Option<u64> {
    match case {
        Case::Jacobi | Case::JacobiBarrier => Some(heat::expected_checksum(budget.jacobi_steps)),
        Case::Stencil7 | Case::NbodyStatic | Case::NbodyDynamic | Case::Matmul | Case::Mandelbrot => {
            steps(&mut Sequential::<false>, case, budget).ok().map(|(_, answer)| answer)
        }
        _ => None,
    }
}

/// Kernels made of steps of parallel loops. A sample takes 10 to 30 ms on one CPU.
fn steps(runtime: &mut (impl Runtime + Loops), case: Case, budget: &Budget) -> Done {
    let samples = budget.kernel_samples;
    match case {
        Case::StreamCopy => in_samples(Stream::new(runtime, Operation::Copy, STREAM_LEN), 4, samples, runtime),
        Case::StreamScale => in_samples(Stream::new(runtime, Operation::Scale, STREAM_LEN), 4, samples, runtime),
        Case::StreamAdd => in_samples(Stream::new(runtime, Operation::Add, STREAM_LEN), 4, samples, runtime),
        Case::Stencil7 => in_samples(Stencil::new(runtime), 4, samples, runtime),
        Case::NbodyStatic => in_samples(Nbody::new(Schedule::Static), 50, samples, runtime),
        Case::NbodyDynamic => in_samples(Nbody::new(Schedule::Dynamic), 50, samples, runtime),
        Case::Matmul => in_samples(Matmul::new(runtime), 1, samples, runtime),
        Case::Mandelbrot => in_samples(Mandelbrot::new(runtime), 1, samples, runtime),
        Case::Dynamic1m => in_samples(HandingOut::default(), 1, samples, runtime),
        _ => Err("this case is no kernel of loops".to_owned()),
    }
}

/// A sample is the time of some steps, divided by the units they have; as many steps run before the first sample. The
/// answer is checked after all steps.
fn in_samples<R: Runtime + Loops>(mut kernel: impl Kernel, steps: u64, samples: u64, by: &mut R) -> Done {
    kernel.run(by, steps);
    let sample = |_| {
        awaken(by);
        timing::nanoseconds(|| kernel.run(by, steps)) / (steps * kernel.units()) as f64
    };
    Ok(((0..samples).map(sample).collect(), kernel.answer()?))
}

fn triad(runtime: &mut impl Runtime, job: &Job) -> Samples {
    let len = job.case.triad_len().ok_or("this case has no arrays")?;
    let mut arrays = Triad::new(runtime, len);
    let samples = timing::batches(&job.budget, |times| arrays.run(runtime, times));
    arrays.check().map(|()| samples)
}

/// All steps are one sample: the time of a step.
fn heat_run(budget: &Budget, mut run: impl FnMut(u64, &mut heat::Plates)) -> (Vec<f64>, u64) {
    let steps = budget.jacobi_steps;
    run(WARM_UP_STEPS, &mut heat::Plates::new());
    let mut plates = heat::Plates::new();
    let took = timing::nanoseconds(|| run(steps, &mut plates));
    (vec![took / steps as f64], plates.checksum(steps))
}

fn spmv(runtime: &mut (impl Runtime + Loops), job: &Job) -> Samples {
    let mut product = Product::new(runtime, &job.given.matrix(&job.budget)?);
    let samples = timing::batches(&job.budget, |times| product.run(runtime, times));
    product.answer().map(|_| samples)
}

/// All iterations are one sample: the time of an iteration.
fn cg(runtime: &mut (impl Runtime + Loops), job: &Job) -> Samples {
    let (largest_error, iterations) = (job.given.cg_error()?, job.budget.cg_iterations);
    let mut system = System::new(runtime, &job.given.matrix(&job.budget)?);
    system.solve(runtime, WARM_UP_ITERATIONS)?;
    system.restart();
    awaken(runtime);
    let took = timing::try_nanoseconds(|| system.solve(runtime, iterations))?;
    system.check(largest_error)?;
    Ok(vec![took / iterations as f64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::record::Given;

    fn job(checksum: Option<u64>) -> Job {
        let (runtime, case) = (RuntimeId::Sequential, Case::NbodyStatic);
        Job {
            runtime,
            case,
            threads: 1,
            cpus: vec![0],
            budget: Budget::QUICK,
            checksum,
            given: Given::default(),
            poll: None,
        }
    }

    #[test]
    fn another_s_answer_is_held_against_this_one_s() {
        let expected = expected_checksum(Case::NbodyStatic, &Budget::QUICK);
        assert!(expected.is_some());
        assert_eq!(run(&mut Sequential::<false>, &job(expected)).unwrap().len(), 1);
        let error = run(&mut Sequential::<false>, &job(Some(17))).unwrap_err();
        assert!(error.contains("not 17"), "{error}");
    }

    #[test]
    fn only_what_needs_it_is_computed_beforehand() {
        for case in [Case::StreamAdd, Case::Dynamic1m, Case::Spmv, Case::Region] {
            assert_eq!(expected_checksum(case, &Budget::QUICK), None, "{case:?}");
        }
    }
}
