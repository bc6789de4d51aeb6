//! What the tests of latecomers share: workers that are held in tasks, and a record of what a loop has run.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};

use hive::{Bee, Hive, Schedule};

use super::task_helpers::builders;
use super::{Gate, wait_until};

pub(crate) const SCHEDULES: [Schedule; 8] = [
    Schedule::Static,
    Schedule::StaticChunk(3),
    Schedule::Dynamic(1),
    Schedule::Dynamic(7),
    Schedule::Guided(1),
    Schedule::Guided(5),
    Schedule::Factoring,
    Schedule::Affinity,
];

pub(crate) const BEES: usize = 3;
pub(crate) const LEN: usize = 100;

pub(crate) fn hives() -> impl Iterator<Item = Hive> {
    builders().map(|builder| builder.bees(BEES).build().unwrap())
}

/// What workers wait for asleep, so that they leave the CPUs to the loop.
#[derive(Default)]
pub(crate) struct Release {
    is_given: Mutex<bool>,
    given: Condvar,
}

impl Release {
    pub(crate) fn give(&self) {
        *self.is_given.lock().unwrap() = true;
        self.given.notify_all();
    }

    pub(crate) fn wait(&self) {
        drop(self.given.wait_while(self.is_given.lock().unwrap(), |is_given| !*is_given).unwrap());
    }
}

/// Workers that are in the middle of a task, until this is dropped.
pub(crate) struct Held {
    pub(crate) release: Arc<Release>,
    pub(crate) left: Arc<Gate>,
    pub(crate) count: usize,
}

impl Held {
    /// Gives a task to each of these workers, and waits until all of them are in it.
    pub(crate) fn workers(hive: &Hive, ids: impl IntoIterator<Item = usize>) -> Self {
        let (entered, mut held) = (Arc::new(Gate::new()), Self::nobody());
        for id in ids {
            let (entered, release, left) = (Arc::clone(&entered), Arc::clone(&held.release), Arc::clone(&held.left));
            hive.spawn_on(id, move || {
                entered.arrive();
                release.wait();
                left.arrive();
            });
            held.count += 1;
        }
        entered.wait_for(held.count);
        held
    }

    pub(crate) fn nobody() -> Self {
        Self { release: Arc::default(), left: Arc::default(), count: 0 }
    }

    /// All workers of a hive of `BEES`.
    pub(crate) fn all(hive: &Hive) -> Self {
        Self::workers(hive, 1..BEES)
    }

    pub(crate) fn assert_held(&self) {
        assert_eq!(self.left.arrived(), 0, "the tasks are still held");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release.give();
        self.left.wait_for(self.count);
    }
}

/// What a loop ran: each range with the id of the bee in whose name it ran, and the thread.
#[derive(Default)]
pub(crate) struct Record(Mutex<Vec<(Range<usize>, usize, ThreadId)>>);

impl Record {
    pub(crate) fn add(&self, range: Range<usize>, bee: &Bee<'_>) {
        self.0.lock().unwrap().push((range, bee.id(), thread::current().id()));
    }

    /// The ranges, sorted.
    pub(crate) fn into_sorted(self) -> Vec<(Range<usize>, usize, ThreadId)> {
        let mut ranges = self.0.into_inner().unwrap();
        ranges.sort_by_key(|(range, ..)| range.start);
        ranges
    }
}

/// Checks that each index of `range` is in exactly one of the sorted `ranges`.
#[track_caller]
pub(crate) fn assert_covers(ranges: &[(Range<usize>, usize, ThreadId)], range: Range<usize>) {
    let mut end = range.start;
    for (part, ..) in ranges {
        assert!(part.start == end && part.end > end, "{part:?} comes after {end}");
        end = part.end;
    }
    assert_eq!(end, range.end);
}

/// Waits until `count` workers of the hive sleep for want of work. One that was parked in its sleep has not woken, but
/// is no bee of the hive any more.
pub(crate) fn wait_until_asleep(hive: &Hive, count: usize) {
    let asleep = || hive.stats().per_bee()[1..hive.bees()].iter().filter(|it| it.sleeps > it.wakes).count();
    wait_until(|| asleep() == count);
}

/// Checks that each bee of a region runs on a thread of its own, and that they meet there.
#[track_caller]
pub(crate) fn assert_all_take_part(hive: &Hive, bees: usize) {
    let threads = hive.spmd_map(bees, |bee| {
        bee.barrier();
        thread::current().id()
    });
    let distinct = threads.iter().collect::<std::collections::HashSet<_>>();
    assert_eq!((threads.len(), distinct.len()), (bees, bees));
}

/// Runs a loop over all bees, and checks it.
#[track_caller]
pub(crate) fn assert_loop_works(hive: &Hive, schedule: Schedule) {
    let record = Record::default();
    hive.par_for((0..LEN, schedule), |range, bee| record.add(range, bee));
    assert_covers(&record.into_sorted(), 0..LEN);
}
