//! Says on standard error when a region does not get on: who waits, who is missing, and what those are doing.

use std::fmt::Write;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::colony::Colony;
use crate::crew::{Seen, Sight};
use crate::doing::{Activity, Note};
use crate::room::Room;
use crate::say::say;
use crate::signal_mask;

/// How often it looks, as a part of what it waits for.
const LOOKS: u32 = 8;

/// The thread that watches a hive.
pub(crate) struct Watchdog {
    thread: Mutex<Option<JoinHandle<()>>>,
    leash: Arc<Leash>,
}

/// How it is told to end.
#[derive(Default)]
struct Leash {
    is_over: Mutex<bool>,
    pulled: Condvar,
}

impl Watchdog {
    /// One that does not watch yet.
    pub(crate) fn new() -> Self {
        Self { thread: Mutex::new(None), leash: Arc::default() }
    }

    /// Begins to watch a hive whose regions should not wait for longer than `limit`.
    ///
    /// # Errors
    /// If the system makes no more threads.
    pub(crate) fn watch(&self, colony: &Arc<Colony>, limit: Duration) -> io::Result<()> {
        let (watched, leash) = (Arc::downgrade(colony), Arc::clone(&self.leash));
        let _room = Room::take(1, None).map_err(|shortage| io::Error::other(shortage.to_string()))?;
        let name = format!("{}-watchdog", colony.config.thread_name);
        let builder = thread::Builder::new().name(name);
        let thread = signal_mask::with_signals_blocked(|| builder.spawn(move || leash.run(&watched, limit))).0?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// In a forked child: the thread is the parent's, and its number may be that of another by now, which the end of the handle would let go.
    pub(crate) fn forget_thread(&mut self) {
        std::mem::forget(self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Ends the watch.
    pub(crate) fn end(&self) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        *self.leash.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.leash.pulled.notify_all();
        // If it has panicked, that has been told, and is no reason for the end of a hive to fail.
        let _ = thread.join();
    }
}

impl Leash {
    fn run(&self, watched: &Weak<Colony>, limit: Duration) {
        let mut watch = Watch::new(limit);
        let pause = (limit / LOOKS).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_over {
            is_over = self.pulled.wait_timeout(is_over, pause).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(colony) = watched.upgrade()
                && let Some(report) = watch.look(&colony.crew.sight(), Instant::now())
            {
                say(&format!("{}: {report}", colony.config.thread_name));
            }
        }
    }
}

/// What it remembers from one look to the next.
struct Watch {
    limit: Duration,
    /// Of each member: what it waits at, and since when it has been seen there.
    waits: Vec<Option<(Note, Instant)>>,
    /// How long the wait must last that is reported next: a report is followed by one at twice the time.
    due: Duration,
}

impl Watch {
    fn new(limit: Duration) -> Self {
        Self { limit, waits: Vec::new(), due: limit }
    }

    /// What is to be said now.
    fn look(&mut self, sight: &Sight, now: Instant) -> Option<String> {
        self.waits.resize(sight.members.len(), None);
        for (wait, seen) in self.waits.iter_mut().zip(&sight.members) {
            let is_waiting =
                seen.note.region == sight.region && matches!(seen.note.activity, Activity::Barrier(_) | Activity::End);
            let since = wait.filter(|(note, _)| *note == seen.note).map_or(now, |(_, since)| since);
            *wait = is_waiting.then_some((seen.note, since));
        }
        let longest = self.waits.iter().flatten().map(|(_, since)| now.duration_since(*since)).max().unwrap_or_default();
        if longest < self.limit {
            self.due = self.limit;
        }
        if longest < self.due {
            return None;
        }
        self.due = longest.saturating_mul(2);
        Some(report(sight, longest))
    }
}

fn report(sight: &Sight, longest: Duration) -> String {
    let mut text = format!("a region of {} has not got on for {longest:.1?}\n", sight.team);
    for (member, seen) in sight.members.iter().enumerate().take(sight.team as usize) {
        let _ = writeln!(text, "  member {member} {}", words(sight, seen));
    }
    text
}

fn words(sight: &Sight, seen: &Seen) -> String {
    let bed = match (seen.is_asleep, seen.is_parked) {
        (true, _) => ", asleep",
        (_, true) => ", parked",
        _ => "",
    };
    if seen.note.activity == Activity::Task {
        return format!("is missing: in a task{bed}");
    }
    if seen.note.region != sight.region || seen.note.activity == Activity::Nothing {
        return format!("is missing: it has not come{bed}");
    }
    match seen.note.activity {
        Activity::Part(passed) => format!("is missing: in its part, before barrier {}{bed}", passed + 1),
        Activity::Barrier(number) => format!("waits at barrier {number}"),
        Activity::End => "waits at the end".to_owned(),
        Activity::Left | Activity::Task | Activity::Nothing => "has come to the end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(region: u32, activities: &[Activity]) -> Sight {
        let seen = |&activity| Seen { note: Note { region: 5, activity }, is_asleep: false, is_parked: false };
        Sight { region, team: activities.len() as u32, members: activities.iter().map(seen).collect() }
    }

    #[test]
    fn a_wait_is_reported_when_it_is_too_long_and_again_when_it_is_twice_as_long() {
        let (mut watch, start) = (Watch::new(Duration::from_secs(1)), Instant::now());
        let stuck = sight(5, &[Activity::End, Activity::Barrier(3), Activity::Part(2), Activity::Task, Activity::Left]);
        let at = |watch: &mut Watch, seconds| watch.look(&stuck, start + Duration::from_secs_f64(seconds));
        assert_eq!([0.0, 0.9].map(|seconds| at(&mut watch, seconds)), [None, None]);
        let report = at(&mut watch, 1.1).unwrap();
        let lines: Vec<_> = report.lines().collect();
        assert_eq!(lines[0], "a region of 5 has not got on for 1.1s");
        let expected = [
            "  member 0 waits at the end",
            "  member 1 waits at barrier 3",
            "  member 2 is missing: in its part, before barrier 3",
            "  member 3 is missing: in a task",
            "  member 4 has come to the end",
        ];
        assert_eq!(lines[1..], expected);
        assert!([1.5, 2.1].iter().all(|&seconds| at(&mut watch, seconds).is_none()));
        assert!(at(&mut watch, 2.3).is_some());
    }

    #[test]
    fn who_gets_on_is_not_reported() {
        let (mut watch, start) = (Watch::new(Duration::from_secs(1)), Instant::now());
        for step in 0..10 {
            let moving = sight(5, &[Activity::Barrier(step), Activity::Part(step)]);
            assert_eq!(watch.look(&moving, start + Duration::from_millis(900) * step), None);
        }
        let over = sight(6, &[Activity::End, Activity::Left]);
        assert!([20, 40].iter().all(|&seconds| watch.look(&over, start + Duration::from_secs(seconds)).is_none()));
    }
}
