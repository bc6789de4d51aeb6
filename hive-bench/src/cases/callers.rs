//! Threads of the program that call one team at the same time. Each of them may run on all CPUs that the team has.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::ClockId;

use super::{Samples, check, cpu, numbers};
use crate::catalog::Case;
use crate::kernels::roots::{self, expected_sum};
use crate::record::{Job, Measured};
use crate::runtimes::Runtime;
use crate::stats::quantile;
use crate::system::cpus;

/// Threads that have requests.
const REQUEST_THREADS: usize = 4;

/// The mean time that a thread with light requests sleeps between two of them.
const BETWEEN: Duration = Duration::from_millis(1);

/// Requests of each thread before those that count.
const WARM_UP: u32 = 5;

pub(super) fn requests(team: &impl Runtime, job: &Job, measured: &Measured) -> Samples {
    let numbers = roots::numbers(numbers(job, measured)?);
    let crowd = Crowd { team, numbers: &numbers, cpus: &job.cpus[..job.threads] };
    let [light, saturated, regions] = job.budget.requests;
    let light = || crowd.requests(light, Some(BETWEEN));
    let saturated = || crowd.requests(saturated, None);
    let p99 = |done: &Done| quantile(&done.latencies, 0.99).unwrap_or_default();
    Ok(match job.case {
        Case::CallersLightP50 => light()?.latencies,
        Case::CallersLightP99 => vec![p99(&light()?)],
        Case::CallersLightCpu => vec![light()?.cpu_of_each],
        Case::CallersSaturatedP50 => saturated()?.latencies,
        Case::CallersSaturatedP99 => vec![p99(&saturated()?)],
        Case::CallersSaturatedTime => vec![saturated()?.time_of_each],
        Case::CallersTwoQueens => vec![most_of_the_other(&crowd.two_queens(regions as usize)?) as f64],
        _ => return Err("this case has no callers".to_owned()),
    })
}

/// What came of the requests of all threads, in nanoseconds.
struct Done {
    latencies: Vec<f64>,
    /// From the first request to the end of the last one, for each request.
    time_of_each: f64,
    /// CPU time of the whole process meanwhile, for each request.
    cpu_of_each: f64,
}

/// Threads that ask one team for the same sum again and again.
struct Crowd<'c, C> {
    team: &'c C,
    numbers: &'c [f64],
    cpus: &'c [usize],
}

impl<C: Runtime> Crowd<'_, C> {
    /// So many requests of each thread, after a sleep of `between` on average, or back to back.
    fn requests(&self, each: u32, between: Option<Duration>) -> Result<Done, String> {
        let start = &Barrier::new(REQUEST_THREADS + 1);
        let cpu_time = || cpu::time_by(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        thread::scope(|scope| {
            let threads = [0, 1, 2, 3].map(|seed| scope.spawn(move || self.one_thread(seed, each, between, start)));
            start.wait();
            let (begin, before) = (Instant::now(), cpu_time());
            let latencies = threads.map(|thread| thread.join().expect("no request panics"));
            let (took, used) = (begin.elapsed(), cpu_time()?.saturating_sub(before?));
            let latencies = latencies.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
            let of_each = |time: Duration| time.as_nanos() as f64 / latencies.len() as f64;
            Ok(Done { time_of_each: of_each(took), cpu_of_each: of_each(used), latencies })
        })
    }

    fn one_thread(&self, seed: u64, each: u32, between: Option<Duration>, start: &Barrier) -> Samples {
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
        (0..each).map(one).collect()
    }

    /// Nanoseconds of a request, its answer checked.
    fn request(&self) -> Result<f64, String> {
        let begin = Instant::now();
        let sum = self.team.sum_of_roots(self.numbers);
        let took = begin.elapsed().as_nanos() as f64;
        check("the sum", sum, expected_sum(self.numbers.len()))?;
        Ok(took)
    }

    /// A region of one of two queens, its answer checked.
    fn region(&self) -> Result<(), String> {
        check("the sum", self.team.sum_of_roots_in_region(self.numbers), expected_sum(self.numbers.len()))
    }

    /// Two threads with regions back to back until there were so many. Returns each one's regions, in their order.
    fn two_queens(&self, regions: usize) -> Result<[Vec<Span>; 2], String> {
        let (start, ended) = (&Barrier::new(2), &AtomicUsize::new(0));
        let queen = || {
            cpus::pin_to_any(self.cpus);
            let warm_up = self.region();
            start.wait();
            warm_up?;
            let mut spans = Vec::with_capacity(regions);
            // Relaxed: a count that hands nothing on.
            while ended.fetch_add(1, Ordering::Relaxed) < regions {
                let call = Instant::now();
                self.region()?;
                spans.push((call, Instant::now()));
            }
            Ok::<_, String>(spans)
        };
        thread::scope(|scope| {
            let queens = [(); 2].map(|()| scope.spawn(queen));
            let [first, second] = queens.map(|queen| queen.join().expect("no request panics"));
            Ok([first?, second?])
        })
    }
}

/// A region from its call on, with the time that its queen waited for her turn, to its end.
type Span = (Instant, Instant);

/// The most regions of one queen that ended while one region of the other waited or ran.
fn most_of_the_other([first, second]: &[Vec<Span>; 2]) -> usize {
    let most = |of: &[Span], beside: &[Span]| {
        let until = |time: Instant| beside.partition_point(|(_, end)| *end <= time);
        of.iter().map(|(call, end)| until(*end) - until(*call)).max().unwrap_or(0)
    };
    most(first, second).max(most(second, first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::sequential::Sequential;

    /// A team that loses a number.
    struct Forgetful;

    impl Runtime for Forgetful {
        fn threads(&self) -> usize {
            1
        }

        fn region<F: Fn(usize) + Sync>(&mut self, _threads: usize, body: F) {
            body(0);
        }

        fn sum_of_roots(&self, numbers: &[f64]) -> f64 {
            Sequential::<false>.sum_of_roots(&numbers[..numbers.len() - 1])
        }
    }

    #[test]
    fn regions_that_end_while_the_other_queen_waits_are_counted() {
        let start = Instant::now();
        let spans = |times: &[(u64, u64)]| {
            let at = |time| start + Duration::from_nanos(time);
            times.iter().map(|&(call, end)| (at(call), at(end))).collect::<Vec<_>>()
        };
        assert_eq!(most_of_the_other(&[spans(&[]), spans(&[(0, 1)])]), 0);
        // In turn; then the second is away while the first has three; then it waits for two.
        let first = [(0, 10), (11, 30), (31, 50), (51, 60), (61, 70), (71, 80), (81, 90)];
        let second = [(1, 20), (21, 40), (75, 100)];
        assert_eq!(most_of_the_other(&[spans(&first[..6]), spans(&second)]), 1);
        assert_eq!(most_of_the_other(&[spans(&first), spans(&second)]), 2);
        assert_eq!(most_of_the_other(&[spans(&second), spans(&first)]), 2);
    }

    #[test]
    fn every_request_counts() {
        let numbers = roots::numbers(100);
        let cpus = cpus::in_order_of_use();
        let crowd = Crowd { team: &Sequential::<false>, numbers: &numbers, cpus: &cpus };
        let done = crowd.requests(10, Some(Duration::from_micros(10))).unwrap();
        assert_eq!(done.latencies.len(), 10 * REQUEST_THREADS);
        assert!(done.time_of_each * 40.0 >= 50_000.0 && done.cpu_of_each > 0.0, "{}", done.time_of_each);
        let spans = crowd.two_queens(50).unwrap();
        assert_eq!(spans.iter().map(Vec::len).sum::<usize>(), 50);
    }

    #[test]
    fn a_wrong_sum_is_an_error() {
        let numbers = roots::numbers(100);
        let crowd = Crowd { team: &Forgetful, numbers: &numbers, cpus: &[0] };
        assert!(crowd.requests(1, None).is_err_and(|error| error.contains("wrong answer")));
        assert!(crowd.two_queens(1).is_err_and(|error| error.contains("wrong answer")));
    }
}
