//! A record of what each thread of a case is inside of. The operations of the test write it, because they know; the
//! rules in `expectation.rs` read it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::common::sys;

/// A hive of a case: 0 and 1 are the two that it starts with, the others are built on the way.
pub(crate) type HiveId = usize;

/// One thing that a thread is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The thread is this bee of the hive, or was.
    Bee(HiveId, usize),
    /// A task of the hive, or a half of a join.
    Task(HiveId),
    /// A half of a join that is a task of the hive or runs as no bee at the place of the call; it is not known which.
    TaskPerhaps(HiveId),
    /// The queen's position, taken in order to run tasks.
    QueenPosition(HiveId),
    /// A region that has not begun yet. Its queen holds the queen lock.
    QueenLock(HiveId),
    /// The same, but it is not known whether the region will have more than one bee.
    QueenLockPerhaps(HiveId),
    Region {
        hive: HiveId,
        team: usize,
        id: usize,
    },
    /// A call that the thread has made. If this is the innermost frame, other threads do what it waits for.
    Waiting(Wait),
}

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It does nothing meanwhile: at a barrier, at the end of a region, or for a thread to end.
    Blocked,
    /// It runs tasks of this hive meanwhile.
    RunningTasks(HiveId),
    /// It polls by `hive::yield_now`, in a loop of the program's own.
    Polling,
}

/// What one thread is inside of, outermost first.
pub(crate) type FrameStack = Vec<Frame>;

/// The frames of all threads of a case, by the threads' numbers.
#[derive(Default)]
pub(crate) struct FrameRegistry {
    stacks: Mutex<BTreeMap<i32, FrameStack>>,
    /// How many hives have been built on the way.
    new_hives: AtomicUsize,
}

impl FrameRegistry {
    /// Adds `frames` to the calling thread's, and removes them when the guard is dropped.
    pub(crate) fn enter(&self, frames: &[Frame]) -> Entered<'_> {
        let thread = sys::tid();
        let mut chains = self.lock();
        let chain = chains.entry(thread).or_default();
        let before = chain.len();
        chain.extend_from_slice(frames);
        Entered { book: self, thread, before }
    }

    /// Records a thread that the case does not see and that stays inside of `frames` until the case ends, or until
    /// `remove_unseen` is called with the number that this returns.
    pub(crate) fn add_unseen(&self, frames: &[Frame]) -> i32 {
        let mut stacks = self.lock();
        // The numbers of real threads are positive, so these are negative.
        let number = stacks.first_key_value().map_or(-1, |(&first, _)| first.min(0) - 1);
        stacks.insert(number, frames.to_vec());
        number
    }

    pub(crate) fn remove_unseen(&self, number: i32) {
        self.lock().remove(&number);
    }

    /// The frames of the calling thread, and those of all others.
    pub(crate) fn chains(&self) -> (FrameStack, Vec<FrameStack>) {
        let mut chains = self.lock().clone();
        let own = chains.remove(&sys::tid()).unwrap_or_default();
        (own, chains.into_values().filter(|chain| !chain.is_empty()).collect())
    }

    /// A number for a hive that is built on the way.
    pub(crate) fn new_hive(&self) -> HiveId {
        2 + self.new_hives.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, FrameStack>> {
        self.stacks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the frames when it is dropped.
pub(crate) struct Entered<'b> {
    book: &'b FrameRegistry,
    thread: i32,
    before: usize,
}

impl Entered<'_> {
    /// Adds these frames too. Must be called on the same thread.
    pub(crate) fn and(self, frames: &[Frame]) -> Self {
        std::mem::forget(self.book.enter(frames));
        self
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(chain) = self.book.lock().get_mut(&self.thread) {
            chain.truncate(self.before);
        }
    }
}
