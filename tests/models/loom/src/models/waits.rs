//! Waits between hives: of those that would close a circle one does not begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Model;
use crate::crew::{Awaited, is_circle};
use crate::stage;
use crate::sync::Semaphore;

pub(super) const MODELS: &[Model] = &[
    Model::all("waits_two", "bees of two hives wait for the other's", || in_a_ring(2)),
    Model::all("waits_three", "bees of three hives wait for the next one's", || in_a_ring(3)),
    Model::all("waits_mark", "a bee may come to wait for another hive's, which another hive's wait for", marked),
];

/// The hives of a model, by their numbers from 1.
struct Hives {
    awaited: Vec<Awaited>,
    /// The waits that have begun. Not seen by loom.
    begun: AtomicU32,
}

impl Hives {
    fn new(count: u64) -> Arc<Self> {
        Arc::new(Self { awaited: (0..=count).map(|_| Awaited::new()).collect(), begun: AtomicU32::new(0) })
    }

    fn by(&self, hive: u64) -> u64 {
        self.awaited[hive as usize].by()
    }

    /// A bee of `own` waits for those of `target`, for good, unless that closes a circle. Says whether.
    fn wait(&self, own: u64, target: u64) -> bool {
        let awaited = &self.awaited[target as usize];
        let before = awaited.mark_and_look(own);
        let goes = !is_circle(own, target, self.awaited.len() - 1, |hive| self.by(hive));
        if goes {
            self.begun.fetch_add(1, Ordering::Relaxed);
        } else {
            awaited.mark(before);
        }
        goes
    }
}

/// Runs `others`, each on a thread of its own, beside `this`.
fn beside(others: Vec<Box<dyn FnOnce()>>, this: impl FnOnce()) {
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

fn in_a_ring(count: u64) {
    let hives = Hives::new(count);
    stage::play();
    let wait = |own: u64| {
        let hives = Arc::clone(&hives);
        Box::new(move || _ = hives.wait(own, own % count + 1)) as Box<dyn FnOnce()>
    };
    beside((2..=count).map(wait).collect(), wait(1));
    let begun = hives.begun.load(Ordering::Relaxed);
    assert!(u64::from(begun) < count, "{begun} waits of {count} in a ring have begun");
    let noted = (1..=count).filter(|&hive| hives.by(hive) > 0).count();
    assert_eq!(noted, begun as usize, "nothing is left of a wait that has not begun");
}

/// A bee of 1 gives bees of 2 something to do, in which one waits for bees of 3; a bee of 3 waits for those of 1.
fn marked() {
    let hives = Hives::new(3);
    stage::play();
    let given = Arc::new(Semaphore::new());
    let (does, waits) = (Arc::clone(&hives), Arc::clone(&hives));
    let takes = Arc::clone(&given);
    let second = Box::new(move || {
        takes.wait();
        does.wait(2, 3);
    });
    let third = Box::new(move || _ = waits.wait(3, 1));
    beside(vec![second, third], || {
        hives.awaited[2].mark(1);
        given.post();
    });
    assert!(hives.begun.load(Ordering::Relaxed) < 2, "1 waits for 2, that for 3, and that for 1");
}
