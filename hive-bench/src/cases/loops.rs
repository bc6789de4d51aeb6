//! Kernels made of steps of parallel loops. A sample is the time of some steps, divided by the units they have; the
//! answer is checked after all steps.

use crate::catalog::Case;
use crate::kernels::handing_out::HandingOut;
use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::labels::Labels;
use crate::kernels::mandelbrot::Mandelbrot;
use crate::kernels::matmul::Matmul;
use crate::kernels::nbody::{Nbody, Schedule};
use crate::kernels::stencil::Stencil;
use crate::kernels::stream::{Operation, Stream};
use crate::measure::timing;
use crate::record::Budget;
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::sequential::Sequential;

/// Doubles in each of STREAM's arrays.
const STREAM_LEN: usize = 1 << 22;

/// The result of a kernel.
struct Done {
    /// Nanoseconds for a unit.
    samples: Vec<f64>,
    answer: u64,
}

pub(crate) fn steps(runtime: &mut (impl Runtime + Kernels), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let done = run(runtime, job.case, &job.budget)?;
    measured.samples = done.samples;
    match job.checksum {
        Some(expected) if expected != done.answer => {
            Err(format!("wrong answer: its checksum is {:#x}, not {expected:#x}", done.answer))
        }
        _ => Ok(()),
    }
}

/// The right answer of the case, computed by plain loops. `None` for cases that are no such kernel, and for kernels
/// whose answer alone shows whether it is right.
pub(crate) fn expected_checksum(case: Case, budget: &Budget) -> Option<u64> {
    let needed =
        matches!(case, Case::Stencil7 | Case::NbodyStatic | Case::NbodyDynamic | Case::Matmul | Case::Mandelbrot);
    needed.then(|| run(&mut Sequential, case, budget).ok()).flatten().map(|done| done.answer)
}

/// A sample takes 10 to 30 ms on one CPU.
fn run(runtime: &mut (impl Runtime + Kernels), case: Case, budget: &Budget) -> Result<Done, String> {
    match case {
        Case::StreamCopy => stream(runtime, Operation::Copy, budget),
        Case::StreamScale => stream(runtime, Operation::Scale, budget),
        Case::StreamAdd => stream(runtime, Operation::Add, budget),
        Case::Stencil7 => {
            let cubes = Stencil::new(runtime);
            in_samples(runtime, cubes, 4, budget)
        }
        Case::NbodyStatic => in_samples(runtime, Nbody::new(Schedule::Static), 50, budget),
        Case::NbodyDynamic => in_samples(runtime, Nbody::new(Schedule::Dynamic), 50, budget),
        Case::LabelPropagation => {
            let labels = Labels::new(runtime);
            in_samples(runtime, labels, 1, budget)
        }
        Case::Matmul => {
            let matrices = Matmul::new(runtime);
            in_samples(runtime, matrices, 1, budget)
        }
        Case::Mandelbrot => {
            let set = Mandelbrot::new(runtime);
            in_samples(runtime, set, 1, budget)
        }
        Case::Dynamic1m => in_samples(runtime, HandingOut::default(), 1, budget),
        _ => Err("this case is no kernel of loops".to_owned()),
    }
}

fn stream(runtime: &mut (impl Runtime + Kernels), operation: Operation, budget: &Budget) -> Result<Done, String> {
    let arrays = Stream::new(runtime, operation, STREAM_LEN);
    in_samples(runtime, arrays, 4, budget)
}

/// `steps` a sample, and as many before the first.
fn in_samples(
    runtime: &mut (impl Runtime + Kernels),
    mut kernel: impl Kernel,
    steps: u64,
    budget: &Budget,
) -> Result<Done, String> {
    runtime.run(&mut kernel, steps);
    let mut samples = Vec::new();
    for _ in 0..budget.kernel_samples {
        super::warm_up::awaken(runtime);
        let took = timing::nanoseconds(|| runtime.run(&mut kernel, steps));
        samples.push(took / (steps * kernel.units()) as f64);
    }
    Ok(Done { samples, answer: kernel.answer()? })
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
        let mut measured = Measured::default();
        steps(&mut Sequential, &job(expected), &mut measured).unwrap();
        assert_eq!(measured.samples.len(), 1);
        let error = steps(&mut Sequential, &job(Some(17)), &mut measured).unwrap_err();
        assert!(error.contains("0x11"), "{error}");
    }

    #[test]
    fn only_what_needs_it_is_computed_beforehand() {
        for case in [Case::StreamAdd, Case::LabelPropagation, Case::Dynamic1m, Case::Jacobi, Case::Region] {
            assert_eq!(expected_checksum(case, &Budget::QUICK), None, "{case:?}");
        }
    }
}
