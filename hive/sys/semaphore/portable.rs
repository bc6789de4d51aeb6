//! The substitute for systems without unnamed POSIX semaphores: a mutex and a condition variable.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

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
        *self.permits.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.posted.notify_one();
    }

    /// Takes a permit; sleeps until there is one.
    pub(crate) fn wait(&self) {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut permits =
            self.posted.wait_while(permits, |permits| *permits == 0).unwrap_or_else(PoisonError::into_inner);
        *permits -= 1;
    }

    /// As `wait`, but for no longer than `time`. Returns whether it has taken a permit.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.posted.wait_timeout_while(permits, time, |permits| *permits == 0);
        let (mut permits, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_posted = *permits > 0;
        *permits -= u32::from(is_posted);
        is_posted
    }
}
