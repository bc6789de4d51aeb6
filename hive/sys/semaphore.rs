//! Counting semaphores. Each bee has one in its slot, and blocks on it when it sleeps, parks, or waits long at a
//! barrier.
//!
//! A mutex and a condition variable, since POSIX's semaphores are no better at it: macOS and Windows have none, a wait
//! with an end is measured by the system's clock, which can be set back while a bee waits, and a post of one that
//! somebody waits for is a system call just the same.

use std::sync::{Condvar, PoisonError};
use std::time::Duration;

use crate::sys::mutex::Mutex;

/// A counting semaphore that starts with no permit.
pub(crate) struct Semaphore {
    /// The number of permits that have been posted and not taken.
    permits: Mutex<u32>,
    /// Signalled at each post.
    posted: Condvar,
}

impl Semaphore {
    pub(crate) fn new() -> Self {
        Self { permits: Mutex::new(0), posted: Condvar::new() }
    }

    /// Adds a permit, and wakes a waiting thread if there is one. Everything before the post happens before the return
    /// of the `wait` that takes the permit.
    pub(crate) fn post(&self) {
        // Unlocked before the other thread is woken, which would otherwise wait for the lock at once.
        *self.permits.lock() += 1;
        self.posted.notify_one();
    }

    /// Takes a permit; sleeps until there is one.
    pub(crate) fn wait(&self) {
        let waited = self.posted.wait_while(self.permits.lock(), |permits| *permits == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    /// As `wait`, but for no longer than `time`. Returns whether it has taken a permit.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let waited = self.posted.wait_timeout_while(self.permits.lock(), time, |permits| *permits == 0);
        let (mut permits, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_posted = *permits > 0;
        *permits -= u32::from(is_posted);
        is_posted
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::Semaphore;

    #[test]
    fn a_permit_posted_before_the_wait_is_kept() {
        let semaphore = Semaphore::new();
        semaphore.post();
        semaphore.post();
        semaphore.wait();
        semaphore.wait();
    }

    #[test]
    fn a_wait_with_an_end_says_whether_there_was_a_permit() {
        let semaphore = Semaphore::new();
        assert!(!semaphore.wait_for(Duration::from_millis(1)));
        semaphore.post();
        assert!(semaphore.wait_for(Duration::MAX));
        assert!(!semaphore.wait_for(Duration::ZERO));
    }

    #[test]
    fn each_post_frees_one_waiter() {
        let semaphore = Semaphore::new();
        let freed = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    semaphore.wait();
                    freed.fetch_add(1, Ordering::Relaxed);
                });
            }
            for posted in 1..=4 {
                semaphore.post();
                while freed.load(Ordering::Relaxed) < posted {
                    std::thread::yield_now();
                }
                assert_eq!(freed.load(Ordering::Relaxed), posted);
            }
        });
    }
}
