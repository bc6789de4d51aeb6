//! A semaphore for one sleeper, which hands on exactly what a real one does: from a post to the wait that takes its permit.
//!
//! One of a mutex and a condition variable would also order a wait before the posts that come later, and hide what is
//! missing elsewhere.

use std::cell::RefCell;
use std::time::Duration;

use loom::sync::atomic::AtomicU32;
use loom::thread::{self, Thread};

use super::Ordering;

pub(crate) struct Semaphore {
    permits: AtomicU32,
    /// Who sleeps. Not seen by loom, which runs one thread at a time.
    sleeper: RefCell<Option<Thread>>,
}

#[expect(unsafe_code, reason = "loom's threads take turns on one of the system's")]
// SAFETY: no two of loom's threads run at once, and none is switched away from while it has `sleeper` borrowed.
unsafe impl Sync for Semaphore {}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above.
unsafe impl Send for Semaphore {}

impl Semaphore {
    pub(crate) fn new() -> Self {
        Self { permits: AtomicU32::new(0), sleeper: RefCell::new(None) }
    }

    pub(crate) fn post(&self) {
        // Release: pairs with the Acquire in `wait`.
        let before = self.permits.fetch_add(1, Ordering::Release);
        assert_eq!(before, 0, "a semaphore is posted twice: one permit of them is stale");
        if let Some(sleeper) = self.sleeper.take() {
            sleeper.unpark();
        }
    }

    pub(crate) fn wait_for(&self, _time: Duration) -> bool {
        unreachable!("nobody polls here: see `WaitPolicy::poll`")
    }

    pub(crate) fn wait(&self) {
        // Acquire: pairs with the Release in `post`. A swap, which sees the latest value, not a load: between it and `count_parked`
        // nobody else runs.
        while self.permits.compare_exchange(1, 0, Ordering::Acquire, Ordering::Relaxed).is_err() {
            let before = self.sleeper.replace(Some(thread::current()));
            assert!(before.is_none(), "two threads sleep on one semaphore");
            thread::park();
            self.sleeper.take();
        }
    }
}
