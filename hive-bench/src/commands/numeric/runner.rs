//! Measures one program by one way in one scene, in a process of its own, which is as ordinary programs are: its main
//! thread is bound to no CPU, and the runtimes are as they are by default. Each answer is checked.

use std::cell::Cell;
use std::time::{Duration, Instant};

use hive::Hive;
use rayon::ThreadPoolBuilder;
use serde::{Deserialize, Serialize};

use super::loops::{BesideRayon, Loops, Plain, Rayon, use_rayon};
use super::programs::steps::InSteps;
use super::programs::{
    Name, Program, decode, heat, lattice, lu, options, product, red_black, sort, triangle, wavefront,
};
use super::{Scene, Way};

/// What to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(super) program: Name,
    pub(super) scene: Scene,
    pub(super) way: Way,
    pub(super) seconds: f64,
}

/// Milliseconds of a run in the mean, since this is what its users wait for; nothing where the program has not been
/// written this way.
pub(crate) type Measured = Option<f64>;

/// Does the job that the parent sent.
pub(crate) fn measure(job: &Job) -> Result<Measured, String> {
    match job.program {
        Name::Decode => measure_program::<decode::Decode>(job),
        Name::Heat => measure_program::<InSteps<heat::Heat>>(job),
        Name::Lattice => measure_program::<InSteps<lattice::Lattice>>(job),
        Name::Lu => measure_program::<lu::Lu>(job),
        Name::Options => measure_program::<options::Options>(job),
        Name::Product => measure_program::<InSteps<product::Product>>(job),
        Name::RedBlack => measure_program::<InSteps<red_black::RedBlack>>(job),
        Name::Sort => measure_program::<sort::Sort>(job),
        Name::Triangle => measure_program::<triangle::Triangle>(job),
        Name::Wavefront => measure_program::<InSteps<wavefront::Wavefront>>(job),
    }
}

fn measure_program<P: Program + Sync>(job: &Job) -> Result<Measured, String> {
    let program = P::default();
    let expected = program.run(&Plain);
    let this = Measurement { job, program, expected };
    let hive = || Hive::builder().build().map_err(|error| format!("no hive: {error}"));
    match job.way {
        Way::Plain => this.by_loops(&Plain),
        Way::Rayon => {
            let pool = ThreadPoolBuilder::new().build().map_err(|error| format!("no pool: {error}"))?;
            pool.install(|| this.by_loops(&Rayon))
        }
        Way::Loops => this.by_loops(&hive()?),
        Way::Region => {
            let hive = hive()?;
            this.repeat(|| this.program.run_in_region(&hive).map(|answer| (answer, Duration::ZERO)))
        }
    }
}

struct Measurement<'j, P> {
    job: &'j Job,
    program: P,
    /// The answer of plain loops.
    expected: Vec<f64>,
}

impl<P: Program> Measurement<'_, P> {
    fn by_loops<L: Loops>(&self, loops: &L) -> Result<Measured, String> {
        let is_used = self.job.scene == Scene::Rayon;
        let by = BesideRayon { loops, is_used, done: Cell::default(), took: Cell::default() };
        self.repeat(|| Some((self.program.run(&by), by.took.take())))
    }

    /// Runs the program again and again, for the time that is given. `run` returns the answer and what of its time does
    /// not count.
    fn repeat(&self, mut run: impl FnMut() -> Option<(Vec<f64>, Duration)>) -> Result<Measured, String> {
        let (mut took, mut runs) = (Duration::ZERO, 0);
        // The first run finds a team that has just been made, and does not count.
        for number in 0.. {
            if self.job.scene == Scene::Rayon {
                use_rayon();
            }
            let begin = Instant::now();
            let Some((answer, not_counted)) = run() else { return Ok(None) };
            let time = begin.elapsed();
            check(&answer, &self.expected, P::TOLERANCE)?;
            if number > 0 {
                took += time.saturating_sub(not_counted);
                runs += 1;
                if took.as_secs_f64() >= self.job.seconds {
                    break;
                }
            }
        }
        Ok(Some(1e3 * took.as_secs_f64() / f64::from(runs)))
    }
}

/// Compares an answer with that of the plain loops.
fn check(answer: &[f64], expected: &[f64], tolerance: f64) -> Result<(), String> {
    let largest = expected.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    let agree = |(one, other): (&f64, &f64)| {
        one.to_bits() == other.to_bits() || (one - other).abs() < tolerance * largest && one.is_finite()
    };
    let wrong = answer.iter().zip(expected).position(|pair| !agree(pair));
    match wrong.map(|place| (place, answer[place], expected[place])) {
        None if answer.len() == expected.len() && largest > 0.0 && largest.is_finite() => Ok(()),
        None => Err(format!("the answer has {} numbers, not {}, up to {largest}", answer.len(), expected.len())),
        Some((place, one, other)) => Err(format!("wrong answer: number {place} is {one:e}, by plain loops {other:e}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::commands::numeric::programs::steps::Steps;

    /// That all answers are those of the plain loops is checked in each measurement.
    #[test]
    fn every_program_has_the_same_answer_in_every_way() {
        for &program in Name::value_variants() {
            for (way, scene) in Way::ALL.iter().copied().zip([Scene::Alone, Scene::Alone, Scene::Rayon, Scene::Alone]) {
                let job = Job { program, scene, way, seconds: 1e-9 };
                let measured = measure(&serde_json::from_str(&serde_json::to_string(&job).unwrap()).unwrap()).unwrap();
                let is_written = !matches!(program, Name::Decode | Name::Sort | Name::Triangle) || way != Way::Region;
                assert_eq!(measured.is_some_and(|ms| ms > 0.0), is_written, "{job:?}");
            }
        }
    }

    #[test]
    fn programs_do_what_they_say() {
        let sorted = sort::Sort.run(&Plain);
        assert!(sorted.is_sorted() && sorted[0] + 1e9 < sorted[sorted.len() - 1]);
        let mass = |cells: Vec<f64>| cells.iter().sum::<f64>();
        let flow = mass(InSteps::<lattice::Lattice>::default().run(&Plain));
        assert!((flow / mass(lattice::Lattice::start()) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_answer_agrees_by_bits_or_within_a_share_of_the_largest() {
        let expected = [4.0, 0.0];
        assert_eq!(check(&expected, &expected, 0.0), Ok(()));
        assert_eq!(check(&[4.0, 0.3], &expected, 0.1), Ok(()));
        let refused = [(&[4.0, -0.0][..], 0.0), (&[4.0, 0.5], 0.1), (&[4.0, f64::NAN], 0.1), (&[4.0], 0.1)];
        for (answer, tolerance) in refused {
            assert!(check(answer, &expected, tolerance).is_err(), "{answer:?}");
        }
        assert!(check(&[0.0], &[0.0], 0.1).is_err(), "a program that does nothing");
    }
}
