//! CPU time that a program uses while it has nothing to do.

use std::time::{Duration, Instant};
use std::{fs, hint, thread};

use nix::time::ClockId;

use super::Samples;
use super::pending_tasks::PendingTasks;
use crate::record::{Budget, Job};
use crate::runtimes::Runtime;
use crate::runtimes::tasks::Tasks;

/// How long each of the last tasks runs: long enough for all threads to be awake.
const LAST_TASK: Duration = Duration::from_micros(100);

/// From a while after the last region.
pub(super) fn idle(runtime: &mut impl Runtime, budget: &Budget) -> Samples {
    runtime.empty_regions(runtime.threads(), 1);
    thread::sleep(Duration::from_millis(budget.cpu_wait_ms));
    use_in_window(budget)
}

/// From the moment at which hive reports the surplus bees as parked.
pub(super) fn parked(runtime: &mut impl Runtime, budget: &Budget) -> Samples {
    runtime.empty_regions(runtime.threads(), 1);
    runtime.resize_and_wait(1)?;
    use_in_window(budget)
}

fn use_in_window(budget: &Budget) -> Samples {
    let (begin, before) = (Instant::now(), time_by(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
    thread::sleep(Duration::from_millis(budget.cpu_window_ms));
    let used = time_by(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.saturating_sub(before);
    Ok(vec![percent(used, begin.elapsed())])
}

fn percent(used: Duration, all: Duration) -> f64 {
    100.0 * used.as_secs_f64() / all.as_secs_f64()
}

/// In the time after a team's last task, while it goes to sleep. One sample: the mean over all windows. CPU time in a
/// short window comes in lumps, so a median would say little.
pub(super) fn after_tasks(runtime: &mut impl Tasks, job: &Job) -> Samples {
    let (window, times) = job.budget.use_window(job.case).ok_or("this case has no window")?;
    let pending = PendingTasks::of_this_thread();
    let last_task = || {
        let begin = Instant::now();
        while begin.elapsed() < LAST_TASK {
            hint::spin_loop();
        }
    };
    // The threads exist from the first tasks on.
    pending.run(runtime, job.threads as u64, last_task);
    let others = clocks_of_other_threads()?;
    let (mut used, mut all) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..times {
        pending.run(runtime, job.threads as u64, last_task);
        let end_of_tasks = Instant::now();
        sleep_until(end_of_tasks + window.start);
        let (begin, before) = (Instant::now(), time_by_all(&others)?);
        sleep_until(end_of_tasks + window.end);
        all += begin.elapsed();
        used += time_by_all(&others)?.saturating_sub(before);
    }
    Ok(vec![percent(used, all)])
}

fn sleep_until(then: Instant) {
    thread::sleep(then.saturating_duration_since(Instant::now()));
}

/// The CPU clocks of all threads of this process but the calling one. While a thread runs, the clock of the process
/// lags behind by up to a tick, which is longer than the shortest window. The clocks of the threads do not lag.
fn clocks_of_other_threads() -> Result<Vec<ClockId>, String> {
    let fail = |error| format!("the threads of this process are not known: {error}");
    let own = fs::read_link("/proc/thread-self").map_err(fail)?;
    let mut clocks = Vec::new();
    for entry in fs::read_dir("/proc/self/task").map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        let thread = name.to_str().filter(|_| own.file_name() != Some(&name)).and_then(|name| name.parse().ok());
        clocks.extend(thread.map(clock_of));
    }
    Ok(clocks)
}

/// The kernel's name for a thread's CPU clock: what `pthread_getcpuclockid` gives.
const fn clock_of(thread: i32) -> ClockId {
    const OF_A_THREAD: i32 = 4;
    const BY_THE_SCHEDULER: i32 = 2;
    ClockId::from_raw((!thread << 3) | OF_A_THREAD | BY_THE_SCHEDULER)
}

/// CPU time so far by all these clocks together. A thread that was listed as it ended has no clock any more, so only
/// if none can be read is that an error.
fn time_by_all(clocks: &[ClockId]) -> Result<Duration, String> {
    let times: Vec<_> = clocks.iter().map(|clock| time_by(*clock)).collect();
    if times.iter().any(Result::is_ok) { Ok(times.into_iter().flatten().sum()) } else { times.into_iter().sum() }
}

/// CPU time so far by one of the system's clocks; getrusage rounds to ticks on some systems.
pub(crate) fn time_by(clock: ClockId) -> Result<Duration, String> {
    clock.now().map(Duration::from).map_err(|error| format!("the system does not tell CPU time: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn cpu_time_goes_on_while_the_process_works() {
        let time = || time_by(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap();
        let before = time();
        while time() == before {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_s_time_goes_on_while_it_works() {
        let (number, numbers) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            let own = fs::read_link("/proc/thread-self").unwrap();
            number.send(own.file_name().unwrap().to_str().unwrap().parse().unwrap()).unwrap();
            while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {}
        });
        let clock = clock_of(numbers.recv().unwrap());
        let before = time_by(clock).unwrap();
        while time_by(clock).unwrap() < before + Duration::from_millis(1) {
            thread::yield_now();
        }
        assert!(clocks_of_other_threads().unwrap().contains(&clock));
        drop(end);
        other.join().unwrap();
    }
}
