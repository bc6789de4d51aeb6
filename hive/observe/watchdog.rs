//! Says on standard error when a region does not get on: who waits, who is missing, and what those are doing.

use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::observe::activity::{Activity, RegionActivity};
use crate::pool::shared::Shared;
use crate::protocol::worker::snapshot::{BeeState, Snapshot};
use crate::sys::signal_mask;
use crate::sys::stderr::write_stderr;
use crate::sys::thread_limits::ThreadReservation;

/// How often it looks, as a part of what it waits for.
const CHECKS_PER_LIMIT: u32 = 8;

/// The thread that watches a hive.
pub(crate) struct Watchdog {
    thread: Mutex<Option<JoinHandle<()>>>,
    stop_flag: Arc<StopFlag>,
}

/// How it is told to end.
#[derive(Default)]
struct StopFlag {
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

impl Watchdog {
    /// One that does not watch yet.
    pub(crate) fn new() -> Self {
        Self { thread: Mutex::new(None), stop_flag: Arc::default() }
    }

    /// Begins to watch a hive whose regions should not wait for longer than `limit`.
    ///
    /// # Errors
    /// If the system makes no more threads.
    pub(crate) fn start(&self, shared: &Arc<Shared>, limit: Duration) -> io::Result<()> {
        let (watched, stop_flag) = (Arc::downgrade(shared), Arc::clone(&self.stop_flag));
        let _reservation =
            ThreadReservation::reserve(1, None).map_err(|shortage| io::Error::other(shortage.to_string()))?;
        let name = format!("{}-watchdog", shared.config.thread_name);
        let builder = thread::Builder::new().name(name);
        let thread =
            signal_mask::with_signals_blocked(|| builder.spawn(move || stop_flag.run_until_stopped(&watched, limit)))
                .0?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// In a forked child: the thread is the parent's, and its number may be that of another by now, which the end of the handle would let go.
    pub(crate) fn forget_thread(&mut self) {
        std::mem::forget(self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Ends the watch.
    pub(crate) fn stop(&self) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        *self.stop_flag.is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop_flag.stopped.notify_all();
        // If it has panicked, that has been told, and is no reason for the end of a hive to fail.
        let _ = thread.join();
    }
}

impl StopFlag {
    fn run_until_stopped(&self, watched: &Weak<Shared>, limit: Duration) {
        let mut progress = Progress::new(limit);
        let pause = (limit / CHECKS_PER_LIMIT).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let mut is_stopped = self.is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_stopped {
            is_stopped = self.stopped.wait_timeout(is_stopped, pause).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(shared) = watched.upgrade()
                && let Some(report) = progress.check(&shared.team.snapshot(), Instant::now())
            {
                write_stderr(&format!("{}: {report}", shared.config.thread_name));
            }
        }
    }
}

/// What it remembers from one look to the next.
struct Progress {
    limit: Duration,
    /// Of each bee: what it waits at, and since when it has been seen there.
    waits: Vec<Option<(RegionActivity, Instant)>>,
    /// How long the wait must last that is reported next: a report is followed by one at twice the time.
    next_report: Duration,
}

impl Progress {
    fn new(limit: Duration) -> Self {
        Self { limit, waits: Vec::new(), next_report: limit }
    }

    /// What is to be said now.
    fn check(&mut self, snapshot: &Snapshot, now: Instant) -> Option<String> {
        self.waits.resize(snapshot.states.len(), None);
        for (wait, state) in self.waits.iter_mut().zip(&snapshot.states) {
            let is_waiting = state.record.region == snapshot.region
                && matches!(state.record.activity, Activity::AtBarrier(_) | Activity::AtRegionEnd);
            let since = wait.filter(|(activity, _)| *activity == state.record).map_or(now, |(_, since)| since);
            *wait = is_waiting.then_some((state.record, since));
        }
        let longest =
            self.waits.iter().flatten().map(|(_, since)| now.duration_since(*since)).max().unwrap_or_default();
        if longest < self.limit {
            self.next_report = self.limit;
        }
        if longest < self.next_report {
            return None;
        }
        self.next_report = longest.saturating_mul(2);
        Some(report_text(snapshot, longest))
    }
}

fn report_text(snapshot: &Snapshot, longest: Duration) -> String {
    let mut text = format!("a region of {} has made no progress for {longest:.1?}\n", snapshot.bees);
    for (bee, state) in snapshot.states.iter().enumerate().take(snapshot.bees as usize) {
        let _ = writeln!(text, "  bee {bee} {}", state_text(snapshot, state));
    }
    text
}

fn state_text(snapshot: &Snapshot, state: &BeeState) -> String {
    let sleep_state = match (state.is_asleep, state.is_parked) {
        (true, _) => ", asleep",
        (_, true) => ", parked",
        _ => "",
    };
    if state.record.activity == Activity::InTask {
        return format!("is missing: in a task{sleep_state}");
    }
    if state.record.region != snapshot.region || state.record.activity == Activity::Idle {
        return format!("is missing: it has not started its part{sleep_state}");
    }
    match state.record.activity {
        Activity::InRegion(passed) => format!("is missing: in its part, before barrier {}{sleep_state}", passed + 1),
        Activity::AtBarrier(number) => format!("waits at barrier {number}"),
        Activity::AtRegionEnd => "waits at the end".to_owned(),
        Activity::LeftRegion | Activity::InTask | Activity::Idle => "has come to the end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(region: u32, activities: &[Activity]) -> Snapshot {
        let state =
            |&activity| BeeState { record: RegionActivity { region: 5, activity }, is_asleep: false, is_parked: false };
        Snapshot { region, bees: activities.len() as u32, states: activities.iter().map(state).collect() }
    }

    #[test]
    fn a_wait_is_reported_when_it_is_too_long_and_again_when_it_is_twice_as_long() {
        let (mut progress, start) = (Progress::new(Duration::from_secs(1)), Instant::now());
        let stuck = snapshot(
            5,
            &[
                Activity::AtRegionEnd,
                Activity::AtBarrier(3),
                Activity::InRegion(2),
                Activity::InTask,
                Activity::LeftRegion,
            ],
        );
        let at = |progress: &mut Progress, seconds| progress.check(&stuck, start + Duration::from_secs_f64(seconds));
        assert_eq!([0.0, 0.9].map(|seconds| at(&mut progress, seconds)), [None, None]);
        let report = at(&mut progress, 1.1).unwrap();
        let lines: Vec<_> = report.lines().collect();
        assert_eq!(lines[0], "a region of 5 has made no progress for 1.1s");
        let expected = [
            "  bee 0 waits at the end",
            "  bee 1 waits at barrier 3",
            "  bee 2 is missing: in its part, before barrier 3",
            "  bee 3 is missing: in a task",
            "  bee 4 has come to the end",
        ];
        assert_eq!(lines[1..], expected);
        assert!([1.5, 2.1].iter().all(|&seconds| at(&mut progress, seconds).is_none()));
        assert!(at(&mut progress, 2.3).is_some());
    }

    #[test]
    fn who_gets_on_is_not_reported() {
        let (mut progress, start) = (Progress::new(Duration::from_secs(1)), Instant::now());
        for step in 0..10 {
            let moving = snapshot(5, &[Activity::AtBarrier(step), Activity::InRegion(step)]);
            assert_eq!(progress.check(&moving, start + Duration::from_millis(900) * step), None);
        }
        let over = snapshot(6, &[Activity::AtRegionEnd, Activity::LeftRegion]);
        assert!([20, 40].iter().all(|&seconds| progress.check(&over, start + Duration::from_secs(seconds)).is_none()));
    }
}
