//! Kernels that go in steps of parallel loops: a sample is some steps, its figure the time of a unit, and the answer that of all steps.

use crate::catalog::Case;
use crate::effort::Effort;
use crate::kernels::handing_out::HandingOut;
use crate::kernels::kernel::{Kernel, Kernels};
use crate::kernels::labels::Labels;
use crate::kernels::mandelbrot::Mandelbrot;
use crate::kernels::matmul::Matmul;
use crate::kernels::nbody::{Nbody, Schedule};
use crate::kernels::stencil::Stencil;
use crate::kernels::stream::{Operation, Stream};
use crate::results::{Job, Measured};
use crate::runtimes::Runtime;
use crate::runtimes::sequential::Sequential;
use crate::timing;

/// Doubles in each of STREAM's arrays.
const STREAM_LEN: usize = 1 << 22;

/// What has come of a kernel.
struct Done {
    /// Nanoseconds for a unit.
    samples: Vec<f64>,
    answer: u64,
}

pub(crate) fn steps(runtime: &mut (impl Runtime + Kernels), job: &Job, measured: &mut Measured) -> Result<(), String> {
    let done = run(runtime, job.case, &job.effort)?;
    measured.samples = done.samples;
    match job.checksum {
        Some(expected) if expected != done.answer => {
            Err(format!("wrong answer: its checksum is {:#x}, not {expected:#x}", done.answer))
        }
        _ => Ok(()),
    }
}

/// What the case must come out as, by plain loops. Nothing for the others, and for those whose answers show by themselves whether
/// they are right.
pub(crate) fn expected_checksum(case: Case, effort: &Effort) -> Option<u64> {
    let needed =
        matches!(case, Case::Stencil7 | Case::NbodyStatic | Case::NbodyDynamic | Case::Matmul | Case::Mandelbrot);
    needed.then(|| run(&mut Sequential, case, effort).ok()).flatten().map(|done| done.answer)
}

/// A sample takes 10 to 30 ms on one CPU.
fn run(runtime: &mut (impl Runtime + Kernels), case: Case, effort: &Effort) -> Result<Done, String> {
    match case {
        Case::StreamCopy => stream(runtime, Operation::Copy, effort),
        Case::StreamScale => stream(runtime, Operation::Scale, effort),
        Case::StreamAdd => stream(runtime, Operation::Add, effort),
        Case::Stencil7 => {
            let cubes = Stencil::new(runtime);
            in_samples(runtime, cubes, 4, effort)
        }
        Case::NbodyStatic => in_samples(runtime, Nbody::new(Schedule::Static), 50, effort),
        Case::NbodyDynamic => in_samples(runtime, Nbody::new(Schedule::Dynamic), 50, effort),
        Case::Labels => {
            let labels = Labels::new(runtime);
            in_samples(runtime, labels, 1, effort)
        }
        Case::Matmul => {
            let matrices = Matmul::new(runtime);
            in_samples(runtime, matrices, 1, effort)
        }
        Case::Mandelbrot => {
            let set = Mandelbrot::new(runtime);
            in_samples(runtime, set, 1, effort)
        }
        Case::Dynamic1m => in_samples(runtime, HandingOut::default(), 1, effort),
        _ => Err("this case is no kernel of loops".to_owned()),
    }
}

fn stream(runtime: &mut (impl Runtime + Kernels), operation: Operation, effort: &Effort) -> Result<Done, String> {
    let arrays = Stream::new(runtime, operation, STREAM_LEN);
    in_samples(runtime, arrays, 4, effort)
}

/// `steps` a sample, and as many before the first.
fn in_samples(
    runtime: &mut (impl Runtime + Kernels),
    mut kernel: impl Kernel,
    steps: u64,
    effort: &Effort,
) -> Result<Done, String> {
    runtime.run(&mut kernel, steps);
    let mut samples = Vec::new();
    for _ in 0..effort.kernel_samples {
        super::awaken(runtime);
        let took = timing::nanoseconds(|| runtime.run(&mut kernel, steps));
        samples.push(took / (steps * kernel.units()) as f64);
    }
    Ok(Done { samples, answer: kernel.answer()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::RuntimeId;
    use crate::kernels::sparse::Given;

    fn job(checksum: Option<u64>) -> Job {
        let (runtime, case) = (RuntimeId::Sequential, Case::NbodyStatic);
        Job {
            runtime,
            case,
            members: 1,
            cpus: vec![0],
            effort: Effort::QUICK,
            checksum,
            given: Given::default(),
            poll: None,
        }
    }

    #[test]
    fn another_s_answer_is_held_against_this_one_s() {
        let expected = expected_checksum(Case::NbodyStatic, &Effort::QUICK);
        assert!(expected.is_some());
        let mut measured = Measured::default();
        steps(&mut Sequential, &job(expected), &mut measured).unwrap();
        assert_eq!(measured.samples.len(), 1);
        let error = steps(&mut Sequential, &job(Some(17)), &mut measured).unwrap_err();
        assert!(error.contains("0x11"), "{error}");
    }

    #[test]
    fn only_what_needs_it_is_computed_beforehand() {
        for case in [Case::StreamAdd, Case::Labels, Case::Dynamic1m, Case::Jacobi, Case::Region] {
            assert_eq!(expected_checksum(case, &Effort::QUICK), None, "{case:?}");
        }
    }
}
