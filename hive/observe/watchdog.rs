//! The watchdog: a thread that reports on standard error when a region makes no progress. The report says which bees
//! wait, which are missing, and what each of them is doing.
//!
//! A hive has one if it was built with
//! [`Builder::deadlock_watchdog`](crate::pool::builder::Builder::deadlock_watchdog). The hive starts it, with a
//! function that takes snapshots of what the bees have written in their activity cells (`activity.rs`), and stops it,
//! without waiting for whoever reads standard error. The watchdog compares each snapshot with the one before, and
//! changes nothing in the hive.

use std::fmt::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::observe::activity::{BeeState, Snapshot};
use crate::observe::trace::event::{Event, EventKind};
use crate::sys::signal_mask;
use crate::sys::stderr::write_message;
use crate::sys::thread_limits::ThreadReservation;

/// How many times the watchdog looks within the time limit.
const CHECKS_PER_LIMIT: u32 = 8;

/// The thread that watches one hive.
#[derive(Default)]
pub(crate) struct Watchdog {
    /// None if nothing is watched, or not any more.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// What the thread is doing, or that it is to end: one of the constants below. Shared with it.
    ///
    /// All operations are Relaxed: nothing is published with it. Who stops the thread wakes it afterwards, and then the
    /// thread sees that.
    state: Arc<AtomicU8>,
}

/// The thread looks at the hive, or waits until it does so again.
const WATCHING: u8 = 0;
/// The thread is writing a report, which may take for as long as nobody reads standard error.
const WRITING: u8 = 1;
/// The thread is to end.
const STOPPED: u8 = 2;

impl Watchdog {
    /// Begins to watch a hive, and reports regions in which a bee waits for longer than `limit`. `hive_name` is what
    /// the names of the hive's threads begin with; it also stands before each report. `take_snapshot` returns what the
    /// hive's bees are doing, or None if the hive is gone.
    ///
    /// # Errors
    /// If the operating system makes no more threads.
    pub(crate) fn start(
        &self,
        hive_name: &str,
        limit: Duration,
        take_snapshot: impl Fn() -> Option<Snapshot> + Send + 'static,
    ) -> io::Result<()> {
        let (hive_name, state) = (hive_name.to_owned(), Arc::clone(&self.state));
        let _reservation = ThreadReservation::reserve(1, None).map_err(|error| io::Error::other(error.to_string()))?;
        let builder = thread::Builder::new().name(format!("{hive_name}-watchdog"));
        let run = move || watch(&state, &hive_name, limit, take_snapshot);
        let thread = signal_mask::with_signals_blocked(|| builder.spawn(run)).0?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// For a forked child, in which the thread does not exist. Dropping the handle would detach the parent's thread by
    /// its id, which may belong to another thread in the child.
    pub(crate) fn forget_thread(&mut self) {
        std::mem::forget(self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Ends the thread, if there is one, and waits for its end. A thread that is writing a report is left to itself: it
    /// ends when somebody has read that.
    pub(crate) fn stop(&self) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // Relaxed: pairs with the load in `watch`, which follows the unparking, and with the exchanges there, none of
        // which succeeds any more.
        if self.state.swap(STOPPED, Ordering::Relaxed) != WRITING {
            thread.thread().unpark();
            // If the thread has panicked, its message has been printed; ending the hive must not fail because of that.
            let _ = thread.join();
        }
    }
}

/// What the thread does: looks at the hive at intervals, until it is told to end.
fn watch(state: &AtomicU8, hive_name: &str, limit: Duration, take_snapshot: impl Fn() -> Option<Snapshot>) {
    let mut progress = Progress::new(limit);
    let pause = (limit / CHECKS_PER_LIMIT).clamp(Duration::from_millis(1), Duration::from_secs(1));
    // Relaxed, both: pairs with the swap in `stop`. If that comes first, no report is begun, so `stop` may wait for
    // this thread; if not, it finds `WRITING`, and does not wait.
    let change = |from, to| state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    // Relaxed: pairs with the swap in `stop`, which comes before the unparking that ends the pause.
    while state.load(Ordering::Relaxed) != STOPPED {
        thread::park_timeout(pause);
        let report = take_snapshot().and_then(|snapshot| progress.check(&snapshot, Instant::now()));
        if let Some(report) = report.filter(|_| change(WATCHING, WRITING)) {
            write_message(&format!("{hive_name}: {report}"));
            // Not if the thread was told to end meanwhile.
            change(WRITING, WATCHING);
        }
    }
}

/// What the watchdog remembers from one look to the next.
struct Progress {
    /// How long a bee may wait before it is reported.
    limit: Duration,
    /// For each bee: the barrier or region end that it waits at, and since when it has been seen there. None if it does
    /// not wait.
    waits: Vec<Option<(Event, Instant)>>,
    /// How long the longest wait must have lasted for the next report. After each report it is twice as long as the
    /// wait that was reported.
    next_report: Duration,
}

impl Progress {
    fn new(limit: Duration) -> Self {
        Self { limit, waits: Vec::new(), next_report: limit }
    }

    /// Compares a new snapshot with the last one. Returns the report that is due, if one is.
    fn check(&mut self, snapshot: &Snapshot, now: Instant) -> Option<String> {
        self.waits.resize(snapshot.states.len(), None);
        // Only waits in the region that is running count. What a bee has written in an earlier region may be out of
        // date.
        for (wait, state) in self.waits.iter_mut().zip(&snapshot.states) {
            let Event { kind, is_end, large: region, .. } = state.record;
            let is_wait = matches!(kind, EventKind::Barrier | EventKind::QueenWait) && !is_end;
            let is_waiting = is_wait && region == snapshot.region;
            let since = wait.filter(|(record, _)| *record == state.record).map_or(now, |(_, since)| since);
            *wait = is_waiting.then_some((state.record, since));
        }
        let longest = self.waits.iter().flatten().map(|(_, since)| now - *since).max().unwrap_or_default();
        // The long wait that was reported has ended: the next one is reported after `limit` again.
        if longest < self.limit {
            self.next_report = self.limit;
        }
        if longest < self.next_report {
            return None;
        }
        // A report is due. A wait that goes on is reported again when it is twice as long.
        self.next_report = longest.saturating_mul(2);
        Some(report_text(snapshot, longest))
    }
}

/// The report: a line for the region and a line for each bee of its team.
fn report_text(snapshot: &Snapshot, longest: Duration) -> String {
    let mut text = format!("a region of {} has made no progress for {longest:.1?}\n", snapshot.bees);
    for (bee, state) in snapshot.states.iter().enumerate().take(snapshot.bees as usize) {
        let _ = writeln!(text, "  bee {bee} {}", state_text(snapshot, state));
    }
    text
}

/// What one bee is doing, in words.
fn state_text(snapshot: &Snapshot, state: &BeeState) -> String {
    let sleep_state = match (state.is_asleep, state.is_parked) {
        (true, _) => ", asleep",
        (_, true) => ", parked",
        _ => "",
    };
    let Event { kind, is_end, small: number, large: region } = state.record;
    let is_in_region = region == snapshot.region;
    match (kind, is_end) {
        (EventKind::Task, false) => format!("is missing: in a task{sleep_state}"),
        (EventKind::Barrier, false) if is_in_region => format!("waits at barrier {number}"),
        (EventKind::Barrier, true) if is_in_region => {
            format!("is missing: in its part, before barrier {}{sleep_state}", number + 1)
        }
        (EventKind::Region, false) if is_in_region => format!("is missing: in its part, before barrier 1{sleep_state}"),
        (EventKind::QueenWait, _) if is_in_region => "waits at the end".to_owned(),
        (EventKind::Region, true) if is_in_region => "has come to the end".to_owned(),
        _ => format!("is missing: it has not started its part{sleep_state}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A snapshot of a team in `region` whose bees have recorded these events in region 5.
    fn snapshot(region: u32, events: &[Event]) -> Snapshot {
        let state =
            |event: &Event| BeeState { record: Event { large: 5, ..*event }, is_asleep: false, is_parked: false };
        Snapshot { region, bees: events.len() as u32, states: events.iter().map(state).collect() }
    }

    fn at_barrier(number: u32) -> Event {
        Event::numbered(EventKind::Barrier, number, 0)
    }

    fn after_barrier(number: u32) -> Event {
        Event { small: number, ..Event::end(EventKind::Barrier) }
    }

    #[test]
    fn a_wait_is_reported_when_it_is_too_long_and_again_when_it_is_twice_as_long() {
        let (mut progress, start) = (Progress::new(Duration::from_secs(1)), Instant::now());
        let stuck = snapshot(
            5,
            &[
                Event::begin(EventKind::QueenWait),
                at_barrier(3),
                after_barrier(2),
                Event::begin(EventKind::Task),
                Event::end(EventKind::Region),
                Event::begin(EventKind::Region),
                Event::end(EventKind::Task),
            ],
        );
        let at = |progress: &mut Progress, seconds| progress.check(&stuck, start + Duration::from_secs_f64(seconds));
        assert_eq!([0.0, 0.9].map(|seconds| at(&mut progress, seconds)), [None, None]);
        let report = at(&mut progress, 1.1).unwrap();
        let lines: Vec<_> = report.lines().collect();
        assert_eq!(lines[0], "a region of 7 has made no progress for 1.1s");
        let expected = [
            "  bee 0 waits at the end",
            "  bee 1 waits at barrier 3",
            "  bee 2 is missing: in its part, before barrier 3",
            "  bee 3 is missing: in a task",
            "  bee 4 has come to the end",
            "  bee 5 is missing: in its part, before barrier 1",
            "  bee 6 is missing: it has not started its part",
        ];
        assert_eq!(lines[1..], expected);
        assert!([1.5, 2.1].iter().all(|&seconds| at(&mut progress, seconds).is_none()));
        assert!(at(&mut progress, 2.3).is_some());
    }

    #[test]
    fn who_gets_on_is_not_reported() {
        let (mut progress, start) = (Progress::new(Duration::from_secs(1)), Instant::now());
        for step in 0..10 {
            let moving = snapshot(5, &[at_barrier(step), after_barrier(step)]);
            assert_eq!(progress.check(&moving, start + Duration::from_millis(900) * step), None);
        }
        let over = snapshot(6, &[Event::begin(EventKind::QueenWait), Event::end(EventKind::Region)]);
        assert!([20, 40].iter().all(|&seconds| progress.check(&over, start + Duration::from_secs(seconds)).is_none()));
    }
}
