//! CPU time that a program uses while it has nothing to do.

use std::thread;
use std::time::{Duration, Instant};

use crate::record::Budget;
use crate::record::Measured;
use crate::runtimes::Runtime;

/// From a while after the last region.
pub(crate) fn idle(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    runtime.empty_regions(runtime.threads(), 1);
    thread::sleep(Duration::from_millis(budget.cpu_wait_ms));
    measured.samples.push(percent_of_a_cpu(Duration::from_millis(budget.cpu_window_ms))?);
    Ok(())
}

/// From the moment at which hive reports the surplus bees as parked.
pub(crate) fn parked(runtime: &mut impl Runtime, budget: &Budget, measured: &mut Measured) -> Result<(), String> {
    runtime.empty_regions(runtime.threads(), 1);
    runtime.resize_and_wait(1)?;
    measured.samples.push(percent_of_a_cpu(Duration::from_millis(budget.cpu_window_ms))?);
    Ok(())
}

fn percent_of_a_cpu(window: Duration) -> Result<f64, String> {
    let begin = Instant::now();
    let before = time_by(libc::CLOCK_PROCESS_CPUTIME_ID)?;
    thread::sleep(window);
    let used = time_by(libc::CLOCK_PROCESS_CPUTIME_ID)?.saturating_sub(before);
    Ok(100.0 * used.as_secs_f64() / begin.elapsed().as_secs_f64())
}

/// CPU time so far by one of the system's clocks.
pub(crate) fn time_by(clock: libc::clockid_t) -> Result<Duration, String> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // This uses the clock and not getrusage, which rounds to ticks on some systems. SAFETY: `time` is large enough; a
    // clock that does not exist is an error.
    #[allow(unsafe_code)]
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok();
    let nanoseconds = u32::try_from(time.tv_nsec).ok();
    match (failed, seconds, nanoseconds) {
        (0, Some(seconds), Some(nanoseconds)) => Ok(Duration::new(seconds, nanoseconds)),
        _ => Err("the system does not tell CPU time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_goes_on_while_the_process_works() {
        let time = || time_by(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap();
        let before = time();
        while time() == before {
            std::hint::spin_loop();
        }
    }
}
