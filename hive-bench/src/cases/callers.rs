//! Threads of the program that call one team at the same time. Each of them may run on all CPUs that the team has.

use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::{cpu, work};
use crate::catalog::Case;
use crate::kernels::roots::{self, expected_sum};
use crate::record::{Job, Measured};
use crate::runtimes::callers::Callers;
use crate::stats::quantile;
use crate::system::cpus;

/// Threads that have requests.
const REQUEST_THREADS: usize = 4;

/// The mean time that a thread with light requests sleeps between two of them.
const BETWEEN: Duration = Duration::from_millis(1);

/// Requests of each thread before those that count.
const WARM_UP: u32 = 5;

pub(crate) fn requests(team: &impl Callers, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let numbers = roots::numbers(work::numbers(job, measured)?);
    let crowd = Crowd { team, numbers: &numbers, cpus: &job.cpus[..job.threads] };
    let [light, saturated, regions] = job.budget.requests;
    let light = || crowd.requests(light, Some(BETWEEN));
    let saturated = || crowd.requests(saturated, None);
    measured.samples = match job.case {
        Case::CallersLightP50 => light()?.latencies,
        Case::CallersLightP99 => vec![light()?.p99()],
        Case::CallersLightCpu => vec![light()?.cpu_of_each()],
        Case::CallersSaturatedP50 => saturated()?.latencies,
        Case::CallersSaturatedP99 => vec![saturated()?.p99()],
        Case::CallersSaturatedTime => vec![saturated()?.time_of_each()],
        Case::CallersTwoQueens => vec![longest_run(&crowd.two_queens(regions as usize)?) as f64],
        _ => return Err("this case has no callers".to_owned()),
    };
    Ok(())
}

/// What came of the requests of all threads.
struct Done {
    /// In nanoseconds, of every request.
    latencies: Vec<f64>,
    /// From the first request to the end of the last one.
    elapsed: Duration,
    /// CPU time of the whole process meanwhile.
    cpu: Duration,
}

/// What came of the requests of one thread.
struct Served {
    begin: Moment,
    latencies: Vec<f64>,
    end: Moment,
}

/// The time, and the CPU time that the process has used until then. Later moments are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    wall: Instant,
    cpu: Duration,
}

impl Moment {
    fn now() -> Result<Self, String> {
        Ok(Self { wall: Instant::now(), cpu: cpu::time_by(libc::CLOCK_PROCESS_CPUTIME_ID)? })
    }
}

impl Done {
    fn p99(&self) -> f64 {
        quantile(&self.latencies, 0.99).unwrap_or_default()
    }

    fn cpu_of_each(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.latencies.len() as f64
    }

    fn time_of_each(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.latencies.len() as f64
    }
}

/// Threads that ask one team for the same sum again and again.
struct Crowd<'c, C> {
    team: &'c C,
    numbers: &'c [f64],
    cpus: &'c [usize],
}

impl<C: Callers> Crowd<'_, C> {
    /// So many requests of each thread, after a sleep of `between` on average, or back to back.
    fn requests(&self, each: u32, between: Option<Duration>) -> Result<Done, String> {
        let start = Barrier::new(REQUEST_THREADS);
        let all: Vec<Served> = thread::scope(|scope| {
            let start = &start;
            let threads: Vec<_> = (0..REQUEST_THREADS)
                .map(|thread| scope.spawn(move || self.one_thread(thread as u64, each, between, start)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no request panics")).collect::<Result<_, _>>()
        })?;
        let first = all.iter().map(|served| served.begin).min().ok_or("there are no request threads")?;
        let last = all.iter().map(|served| served.end).max().ok_or("there are no request threads")?;
        Ok(Done {
            latencies: all.into_iter().flat_map(|served| served.latencies).collect(),
            elapsed: last.wall - first.wall,
            cpu: last.cpu.saturating_sub(first.cpu),
        })
    }

    fn one_thread(&self, seed: u64, each: u32, between: Option<Duration>, start: &Barrier) -> Result<Served, String> {
        cpus::pin_to_any(self.cpus);
        let warm_up = (0..WARM_UP).try_for_each(|_| self.request().map(drop));
        // Also after an error, because the others wait here.
        start.wait();
        warm_up?;
        let mut random = fastrand::Rng::with_seed(seed);
        let one = |_| {
            if let Some(between) = between {
                thread::sleep(between.mul_f64(0.5 + random.f64()));
            }
            self.request()
        };
        let begin = Moment::now()?;
        let latencies = (0..each).map(one).collect::<Result<_, _>>()?;
        Ok(Served { begin, latencies, end: Moment::now()? })
    }

    /// Nanoseconds of a request, its answer checked.
    fn request(&self) -> Result<f64, String> {
        let begin = Instant::now();
        let sum = self.team.sum_of_roots(self.numbers);
        let took = begin.elapsed().as_nanos() as f64;
        let (sum, expected) = (sum?, expected_sum(self.numbers.len()));
        if sum == expected { Ok(took) } else { Err(format!("wrong answer: a sum is {sum}, not {expected}")) }
    }

    /// Two threads with regions back to back until there were so many. Returns whose they were, in the order in which
    /// they ended.
    fn two_queens(&self, regions: usize) -> Result<Vec<usize>, String> {
        let (start, ended) = (Barrier::new(2), Mutex::new(Vec::with_capacity(regions + 2)));
        let queen = |id: usize| {
            cpus::pin_to_any(self.cpus);
            let warm_up = self.request();
            start.wait();
            warm_up?;
            loop {
                self.request()?;
                let mut ended = ended.lock().expect("nobody panics with it");
                if ended.len() >= regions {
                    return Ok::<_, String>(());
                }
                ended.push(id);
            }
        };
        let queen = &queen;
        thread::scope(|scope| {
            let queens = [0, 1].map(|id| scope.spawn(move || queen(id)));
            queens.into_iter().try_for_each(|queen| queen.join().expect("no request panics"))
        })?;
        Ok(ended.into_inner().expect("nobody panics with it"))
    }
}

/// The length of the longest run of equal numbers.
fn longest_run(ids: &[usize]) -> usize {
    ids.chunk_by(|one, next| one == next).map(<[usize]>::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::sequential::Sequential;

    /// A team that loses a number.
    struct Forgetful;

    impl Callers for Forgetful {
        fn sum_of_roots(&self, numbers: &[f64]) -> Result<f64, String> {
            Sequential.sum_of_roots(&numbers[..numbers.len() - 1])
        }
    }

    #[test]
    fn a_run_ends_where_the_other_queen_comes() {
        assert_eq!(longest_run(&[]), 0);
        assert_eq!(longest_run(&[1, 0, 0, 1, 1, 1, 0]), 3);
    }

    #[test]
    fn every_request_counts() {
        let numbers = roots::numbers(100);
        let cpus = cpus::in_order_of_use();
        let crowd = Crowd { team: &Sequential, numbers: &numbers, cpus: &cpus };
        let done = crowd.requests(10, Some(Duration::from_micros(10))).unwrap();
        assert_eq!(done.latencies.len(), 10 * REQUEST_THREADS);
        assert!(done.elapsed >= Duration::from_micros(50), "{:?}", done.elapsed);
        let longest = done.latencies.iter().copied().fold(0.0, f64::max);
        assert!(done.p99() <= longest && done.time_of_each() > 0.0 && done.cpu_of_each() > 0.0);
        let order = crowd.two_queens(50).unwrap();
        assert!(order.len() == 50 && order.iter().all(|id| *id < 2), "{order:?}");
    }

    #[test]
    fn a_wrong_sum_is_an_error() {
        let numbers = roots::numbers(100);
        let crowd = Crowd { team: &Forgetful, numbers: &numbers, cpus: &[0] };
        assert!(crowd.requests(1, None).is_err_and(|error| error.contains("wrong answer")));
        assert!(crowd.two_queens(1).is_err_and(|error| error.contains("wrong answer")));
    }
}
