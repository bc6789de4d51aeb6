//! CPU time that a team uses in the time after its last task, while it goes to sleep.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use crate::cases::pending_tasks::PendingTasks;
use crate::record::{Job, Measured};
use crate::runtimes::tasks::Tasks;

/// How long each of the last tasks runs: long enough for all threads to be awake.
const LAST_TASK: Duration = Duration::from_micros(100);

/// One sample: the mean over all windows. CPU time in a short window comes in lumps, so a median would say little.
pub(crate) fn after_tasks(runtime: &mut impl Tasks, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let (window, times) = job.budget.use_window(job.case).ok_or("this case has no window")?;
    let pending = PendingTasks::of_this_thread();
    // The threads exist from the first tasks on.
    run_last_tasks(runtime, pending, job.threads as u64)?;
    let others = clock::others()?;
    let (mut used, mut all) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..times {
        run_last_tasks(runtime, pending, job.threads as u64)?;
        let end_of_tasks = Instant::now();
        sleep_until(end_of_tasks + window.start);
        let (begin, before) = (Instant::now(), others.time()?);
        sleep_until(end_of_tasks + window.end);
        all += begin.elapsed();
        used += others.time()?.saturating_sub(before);
    }
    measured.samples.push(100.0 * used.as_secs_f64() / all.as_secs_f64());
    Ok(())
}

fn run_last_tasks(runtime: &mut impl Tasks, pending: &'static PendingTasks, tasks: u64) -> Result<(), String> {
    pending.expect(tasks);
    for _ in 0..tasks {
        runtime.spawn_outside(move || {
            let begin = Instant::now();
            while begin.elapsed() < LAST_TASK {
                hint::spin_loop();
            }
            pending.count();
        })?;
    }
    pending.wait();
    Ok(())
}

fn sleep_until(then: Instant) {
    thread::sleep(then.saturating_duration_since(Instant::now()));
}

/// While a thread runs, the clock of the process lags behind by up to a tick, which is longer than the shortest window.
/// The clocks of the threads do not lag.
#[cfg(target_os = "linux")]
mod clock {
    use std::fs;
    use std::time::Duration;

    use crate::cases::cpu;

    /// Every thread of this process but the calling one.
    pub(super) struct Others(Vec<libc::clockid_t>);

    pub(super) fn others() -> Result<Others, String> {
        let fail = |error| format!("the threads of this process are not known: {error}");
        let own = own_number();
        let mut clocks = Vec::new();
        for entry in fs::read_dir("/proc/self/task").map_err(fail)? {
            let thread: Option<libc::pid_t> =
                entry.map_err(fail)?.file_name().to_str().and_then(|name| name.parse().ok());
            clocks.extend(thread.filter(|thread| *thread != own).map(clock_of));
        }
        Ok(Others(clocks))
    }

    /// The calling thread's.
    pub(super) fn own_number() -> libc::pid_t {
        // SAFETY: the call has no preconditions.
        #[allow(unsafe_code)]
        unsafe {
            libc::gettid()
        }
    }

    /// The kernel's name for a thread's CPU clock: what `pthread_getcpuclockid` gives.
    const fn clock_of(thread: libc::pid_t) -> libc::clockid_t {
        const OF_A_THREAD: libc::clockid_t = 4;
        const BY_THE_SCHEDULER: libc::clockid_t = 2;
        (!thread << 3) | OF_A_THREAD | BY_THE_SCHEDULER
    }

    impl Others {
        /// A clock for exactly these threads.
        #[cfg(test)]
        pub(super) fn of(threads: &[libc::pid_t]) -> Self {
            Self(threads.iter().copied().map(clock_of).collect())
        }

        /// CPU time of these threads so far.
        pub(super) fn time(&self) -> Result<Duration, String> {
            self.0.iter().map(|clock| cpu::time_by(*clock)).sum()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod clock {
    use std::time::Duration;

    use crate::cases::cpu;

    /// Every thread of this process but the calling one.
    pub(super) struct Others;

    pub(super) fn others() -> Result<Others, String> {
        Ok(Others)
    }

    impl Others {
        /// CPU time of these threads so far.
        pub(super) fn time(&self) -> Result<Duration, String> {
            Ok(cpu::time_by(libc::CLOCK_PROCESS_CPUTIME_ID)?
                .saturating_sub(cpu::time_by(libc::CLOCK_THREAD_CPUTIME_ID)?))
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_s_time_goes_on_while_it_works() {
        let (number, numbers) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            number.send(clock::own_number()).unwrap();
            while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {}
        });
        let others = clock::Others::of(&[numbers.recv().unwrap()]);
        let before = others.time().unwrap();
        while others.time().unwrap() < before + Duration::from_millis(1) {
            thread::yield_now();
        }
        drop(end);
        other.join().unwrap();
        assert!(clock::others().is_ok());
    }
}
