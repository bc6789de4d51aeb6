//! Measures one way in one scene, in a process of its own, which is like an ordinary program: its main thread is bound
//! to no CPU, and the runtimes are as they are by default.

use std::hint::black_box;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hive::{Hive, Pin, Reduction};
use rayon::ThreadPoolBuilder;
use serde::{Deserialize, Serialize};

use super::Way;
use crate::kernels::roots::sum_of_indices;
use crate::runtimes::cannot;
#[cfg(feature = "forkunion")]
use crate::runtimes::forkunion::ForkUnionPool;
use crate::runtimes::loops::Loops;
#[cfg(openmp_compiled)]
use crate::runtimes::openmp::OpenMp;
use crate::stats::quantile;
use crate::system::cpus;

/// What to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(super) way: Way,
    /// How many threads the team has, if that is not left to the runtime.
    pub(super) threads: Option<usize>,
    /// Indices of the loop, and of the serial work before it.
    pub(super) indices: usize,
    pub(super) serial: usize,
    /// Not before this, so that several processes begin at once.
    pub(super) begin: SystemTime,
    pub(super) seconds: f64,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(super) loops_a_second: f64,
    /// The time that 99.9 % of the loops do not exceed.
    pub(super) p999_us: f64,
}

/// Does the job that the parent sent.
pub(crate) fn measure(job: &Job) -> Result<Measured, String> {
    match job.way {
        Way::Plain => Ok(job.repeat(|| sum_of_indices(black_box(job.all())))),
        Way::Rayon => {
            // 0 is Rayon's default.
            let pool = ThreadPoolBuilder::new().num_threads(job.threads.unwrap_or(0)).build();
            let pool = pool.map_err(|error| format!("no pool: {error}"))?;
            Ok(pool.install(|| job.repeat(|| by_joins(black_box(job.all()), rayon::current_num_threads()))))
        }
        #[cfg(feature = "forkunion")]
        Way::ForkUnion => Ok(job.repeat_on(ForkUnionPool::new_default(job.threads())?)),
        #[cfg(openmp_compiled)]
        Way::Libgomp | Way::Libomp => {
            let runtime = job.way.rival().ok_or("OpenMP is a rival")?;
            Ok(job.repeat_on(OpenMp::new(runtime, job.threads())?))
        }
        _ => with_hive(job),
    }
}

/// As many parts as there are threads: the fewest joins that keep all of them busy.
fn by_joins(range: Range<usize>, parts: usize) -> f64 {
    if parts < 2 {
        return sum_of_indices(range);
    }
    let (left, right) = (parts / 2, parts - parts / 2);
    let middle = range.start + range.len() * left / parts;
    let (one, other) = rayon::join(|| by_joins(range.start..middle, left), || by_joins(middle..range.end, right));
    one + other
}

fn with_hive(job: &Job) -> Result<Measured, String> {
    let builder = job.threads.map_or_else(Hive::builder, |threads| Hive::builder().bees(threads));
    let builder = if job.way == Way::ParForUnbound { builder.pin(Pin::None) } else { builder };
    let hive = builder.build().map_err(|error| format!("no hive: {error}"))?;
    let sum = Reduction::unordered(0.0, |a, b| a + b);
    Ok(match job.way {
        Way::ParReduce => job.repeat(|| hive.par_reduce(black_box(job.all()), &sum, sum_of_indices)),
        Way::Spmd => job.repeat(|| {
            hive.spmd(hive.bees(), |bee| {
                black_box(sum_of_indices(bee.split(black_box(job.all()))));
            });
        }),
        Way::ParFor | Way::ParForUnbound => job.repeat(|| {
            hive.par_for(black_box(job.all()), |range, _| {
                black_box(sum_of_indices(range));
            });
        }),
        _ => cannot(),
    })
}

impl Job {
    const fn all(&self) -> Range<usize> {
        0..self.indices
    }

    /// How many threads a runtime gets that has to be told.
    fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| cpus::in_order_of_use().len())
    }

    /// Runs the loop on a team of another runtime again and again.
    fn repeat_on(&self, mut team: impl Loops) -> Measured {
        self.repeat(|| team.sum(black_box(self.indices), sum_of_indices))
    }

    /// Runs the loop again and again, for the time that is given.
    fn repeat<T>(&self, mut run: impl FnMut() -> T) -> Measured {
        let mut samples = Vec::new();
        thread::sleep(self.begin.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO));
        let begin = Instant::now();
        let took = loop {
            black_box(sum_of_indices(black_box(0..self.serial)));
            let before = Instant::now();
            black_box(run());
            let after = Instant::now();
            samples.push((after - before).as_secs_f64() * 1e6);
            let took = (after - begin).as_secs_f64();
            if took >= self.seconds {
                break took;
            }
        };
        let p999_us = quantile(&samples, 0.999).unwrap_or_default();
        Measured { loops_a_second: samples.len() as f64 / took, p999_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_measures_something() {
        for way in Way::present() {
            let begin = SystemTime::UNIX_EPOCH;
            let job = Job { way, threads: Some(2), indices: 1000, serial: 100, begin, seconds: 0.001 };
            let text = serde_json::to_string(&job).unwrap();
            // On a thread of its own, because a runtime may bind its caller.
            let measured = thread::spawn(move || measure(&serde_json::from_str(&text).unwrap())).join().unwrap();
            assert!(measured.as_ref().is_ok_and(|one| one.loops_a_second > 0.0), "{way:?}: {measured:?}");
        }
    }

    #[test]
    fn joins_leave_nothing_out() {
        for parts in [1, 2, 3, 8] {
            assert_eq!(by_joins(0..1, parts) + by_joins(1..5, parts), sum_of_indices(0..5), "{parts}");
            assert!((by_joins(0..1000, parts) - sum_of_indices(0..1000)).abs() < 1e-6, "{parts}");
        }
    }
}
