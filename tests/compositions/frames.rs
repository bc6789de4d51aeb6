//! What each thread of a case is inside of: written down by the verbs of the test, which know it, and read by the rules in `expectation.rs`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::common::sys;

/// A hive of a case: 0 and 1 are its own, the others are built on the way.
pub(crate) type HiveId = usize;

/// One thing that a thread is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The thread is this bee of the hive, or was.
    Bee(HiveId, usize),
    /// A task of the hive, or a half of a join.
    Task(HiveId),
    /// A half of a join that is that, or is run by nobody on the spot, which is open.
    TaskPerhaps(HiveId),
    /// The queen's place, to run tasks.
    QueenPosition(HiveId),
    /// A region that has not begun yet: its queen has the turn.
    LeaderLock(HiveId),
    /// The same, if the region is to be more than its caller alone, which is open.
    LeaderLockPerhaps(HiveId),
    Region {
        hive: HiveId,
        team: usize,
        id: usize,
    },
    /// A call that the thread has made. If this is the innermost frame, what it waits for is done by others.
    Waiting(Wait),
}

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It does nothing else: at a barrier, at a region's end, for a thread to end.
    Blocked,
    /// It runs tasks of this hive meanwhile.
    RunningTasks(HiveId),
    /// By `hive::yield_now`, in a loop of the program's own.
    Polling,
}

/// What one thread is inside of, outermost first.
pub(crate) type FrameStack = Vec<Frame>;

/// The chains of all threads of a case, by their numbers.
#[derive(Default)]
pub(crate) struct FrameRegistry {
    stacks: Mutex<BTreeMap<i32, FrameStack>>,
    /// Hives built on the way so far.
    new_hives: AtomicUsize,
}

impl FrameRegistry {
    /// The calling thread goes into `frames`, and comes out again when the guard is dropped.
    pub(crate) fn enter(&self, frames: &[Frame]) -> Entered<'_> {
        let thread = sys::tid();
        let mut chains = self.lock();
        let chain = chains.entry(thread).or_default();
        let before = chain.len();
        chain.extend_from_slice(frames);
        Entered { book: self, thread, before }
    }

    /// Writes down a thread that the case does not see, and which stays inside of `frames` until the case is over.
    pub(crate) fn add_unseen(&self, frames: &[Frame]) {
        let mut stacks = self.lock();
        // The numbers of threads are positive.
        let number = stacks.first_key_value().map_or(-1, |(&first, _)| first.min(0) - 1);
        stacks.insert(number, frames.to_vec());
    }

    /// The calling thread's chain, and those of all others.
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

/// Takes the frames off again.
pub(crate) struct Entered<'b> {
    book: &'b FrameRegistry,
    thread: i32,
    before: usize,
}

impl Entered<'_> {
    /// Goes into these frames, too. On the same thread.
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
