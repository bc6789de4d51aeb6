//! How soon a task begins that a thread from outside spawns after there has been nothing to do for a while.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::cases::pending_tasks::PendingTasks;
use crate::record::{Job, Measured};
use crate::runtimes::tasks::Tasks;

/// A thread that sleeps oversleeps by so much that it has to poll through gaps shorter than this.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);

/// One sample a gap. The task itself notes when it began, so the figure does not depend on how the posting thread
/// waits.
pub(crate) fn task(runtime: &mut impl Tasks, job: &Job, measured: &mut Measured) -> Result<(), String> {
    let gap = job.case.wake_gap().ok_or("this case has no gap")?;
    let pending = PendingTasks::of_this_thread();
    // The first task finds threads that have never slept, so it does not count.
    begin_of_a_task(runtime, pending)?;
    for _ in 0..job.budget.samples_after_gap(gap) {
        rest(gap);
        let posted = Instant::now();
        let begun = begin_of_a_task(runtime, pending)?;
        measured.samples.push(begun.saturating_duration_since(posted).as_nanos() as f64);
    }
    Ok(())
}

/// Posts a task and waits for its end.
fn begin_of_a_task(runtime: &mut impl Tasks, pending: &'static PendingTasks) -> Result<Instant, String> {
    // Leaked like the counter: a few bytes for each sample.
    let begun: &'static OnceLock<Instant> = Box::leak(Box::new(OnceLock::new()));
    pending.expect(1);
    runtime.spawn_outside(move || {
        let now = Instant::now();
        begun.get_or_init(|| now);
        pending.count();
    })?;
    pending.wait();
    begun.get().copied().ok_or_else(|| "the task ended before it began".to_owned())
}

fn rest(gap: Duration) {
    let begin = Instant::now();
    if gap >= SHORTEST_SLEEP {
        thread::sleep(gap);
    }
    while begin.elapsed() < gap {
        std::hint::spin_loop();
    }
}
