//! Waits between hives: of those that would close a circle one does not begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Model;
use crate::exploration;
use crate::protocol::waiting_hive::{WaitingHive, closes_cycle};
use crate::sync::Semaphore;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("waits_two", "bees of two hives wait for the other's", || cycle(2)),
    Model::exhaustive("waits_three", "bees of three hives wait for the next one's", || cycle(3)),
    Model::exhaustive(
        "waits_flag",
        "a bee may come to wait for another hive's, which another hive's wait for",
        flagged,
    ),
];

/// The hives of a model, by their numbers from 1.
struct Hives {
    awaited: Vec<WaitingHive>,
    /// The waits that have begun. Not seen by loom.
    begun: AtomicU32,
}

impl Hives {
    fn new(count: u64) -> Arc<Self> {
        Arc::new(Self { awaited: (0..=count).map(|_| WaitingHive::new()).collect(), begun: AtomicU32::new(0) })
    }

    fn bit_of(&self, hive: u64) -> u64 {
        self.awaited[hive as usize].number()
    }

    /// A bee of `own` waits for those of `target`, for good, unless that closes a circle. Says whether.
    fn wait(&self, own: u64, target: u64) -> bool {
        let awaited = &self.awaited[target as usize];
        let before = awaited.replace_and_fence(own);
        let goes = !closes_cycle(own, target, self.awaited.len() - 1, |hive| self.bit_of(hive));
        if goes {
            self.begun.fetch_add(1, Ordering::Relaxed);
        } else {
            awaited.replace(before);
        }
        goes
    }
}

/// Runs `others`, each on a thread of its own, beside `this`.
fn on_threads(others: Vec<Box<dyn FnOnce()>>, this: impl FnOnce()) {
    let begin = |other: Box<dyn FnOnce()>| {
        let done = Arc::new(Semaphore::new());
        let says = Arc::clone(&done);
        loom::thread::spawn(move || {
            other();
            says.post();
        });
        done
    };
    let ends: Vec<_> = others.into_iter().map(begin).collect();
    this();
    ends.into_iter().for_each(|end| end.wait());
}

fn cycle(count: u64) {
    let hives = Hives::new(count);
    exploration::explore();
    let wait = |own: u64| {
        let hives = Arc::clone(&hives);
        Box::new(move || _ = hives.wait(own, own % count + 1)) as Box<dyn FnOnce()>
    };
    on_threads((2..=count).map(wait).collect(), wait(1));
    let begun = hives.begun.load(Ordering::Relaxed);
    assert!(u64::from(begun) < count, "{begun} waits of {count} in a ring have begun");
    let noted = (1..=count).filter(|&hive| hives.bit_of(hive) > 0).count();
    assert_eq!(noted, begun as usize, "nothing is left of a wait that has not begun");
}

/// A bee of 1 gives bees of 2 something to do, in which one waits for bees of 3; a bee of 3 waits for those of 1.
fn flagged() {
    let hives = Hives::new(3);
    exploration::explore();
    let given = Arc::new(Semaphore::new());
    let (does, waits) = (Arc::clone(&hives), Arc::clone(&hives));
    let takes = Arc::clone(&given);
    let second = Box::new(move || {
        takes.wait();
        does.wait(2, 3);
    });
    let third = Box::new(move || _ = waits.wait(3, 1));
    on_threads(vec![second, third], || {
        hives.awaited[2].replace(1);
        given.post();
    });
    assert!(hives.begun.load(Ordering::Relaxed) < 2, "1 waits for 2, that for 3, and that for 1");
}
