//! Models of waits between hives. When bees of several hives wait for each other in a cycle, at least one of the waits
//! is refused.
//!
//! The protocol is described in `docs/waits-between-hives.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Model;
use crate::exploration;
use crate::protocol::waiting_hive::{WaitingHive, closes_cycle};
use crate::sync::Semaphore;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("waits_two", "the bees of two hives wait for each other's hive", || cycle(2)),
    Model::exhaustive("waits_three", "the bees of three hives wait for the next hive, in a cycle", || cycle(3)),
    Model::exhaustive(
        "waits_flag",
        "a wait that is announced before it is known whether it will begin is part of a cycle",
        flagged,
    ),
];

/// The hives of a model, numbered from 1.
struct Hives {
    awaited: Vec<WaitingHive>,
    /// How many waits have begun. loom does not see this.
    begun: AtomicU32,
}

impl Hives {
    fn new(count: u64) -> Arc<Self> {
        Arc::new(Self { awaited: (0..=count).map(|_| WaitingHive::default()).collect(), begun: AtomicU32::new(0) })
    }

    fn bit_of(&self, hive: u64) -> u64 {
        self.awaited[hive as usize].number()
    }

    /// A bee of hive `own` begins to wait for hive `target`, and never stops, unless that would close a cycle. Returns
    /// whether it waits.
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

/// Runs each of `others` on a thread of its own, and `this` on the calling thread.
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

/// A bee of hive 1 gives hive 2 work, in which a bee of hive 2 waits for hive 3. A bee of hive 3 waits for hive 1.
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
