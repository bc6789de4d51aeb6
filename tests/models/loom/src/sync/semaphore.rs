//! A semaphore for one sleeper, with exactly the ordering that a real one gives: from a post to the wait that takes its
//! permit.
//!
//! A semaphore of a mutex and a condition variable would also order a wait before later posts, and so hide orderings
//! that are missing elsewhere.

use std::cell::RefCell;
use std::time::Duration;

use loom::sync::atomic::AtomicU32;
use loom::thread::{self, Thread};

use super::Ordering;

pub(crate) struct Semaphore {
    permits: AtomicU32,
    /// The thread that sleeps. loom does not see this; it runs one thread at a time.
    sleeper: RefCell<Option<Thread>>,
}

#[expect(unsafe_code, reason = "loom's threads take turns on one of the system's")]
// SAFETY: no two of loom's threads run at once, and loom does not switch away from a thread that has `sleeper`
// borrowed.
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

    /// Time passes while other threads run, as far as they can.
    pub(crate) fn wait_for(&self, _time: Duration) -> bool {
        thread::yield_now();
        // Acquire: pairs with the Release in `post`.
        self.permits.compare_exchange(1, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn wait(&self) {
        // Acquire: pairs with the Release in `post`. This is a compare-and-exchange, which sees the latest value, and
        // not a load: no other thread runs between it and `thread::park`.
        while self.permits.compare_exchange(1, 0, Ordering::Acquire, Ordering::Relaxed).is_err() {
            let before = self.sleeper.replace(Some(thread::current()));
            assert!(before.is_none(), "two threads sleep on one semaphore");
            thread::park();
            self.sleeper.take();
        }
    }
}
