//! The substitute for systems without unnamed POSIX semaphores.

use std::sync::{Condvar, Mutex, PoisonError};

/// A counting semaphore that starts with no permit.
pub(crate) struct Semaphore {
    permits: Mutex<u32>,
    posted: Condvar,
}

impl Semaphore {
    pub(crate) fn new() -> Self {
        Self { permits: Mutex::new(0), posted: Condvar::new() }
    }

    /// Adds a permit, waking a waiter if there is one. Everything before it happens before the `wait` that takes the permit.
    pub(crate) fn post(&self) {
        *self.permits.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.posted.notify_one();
    }

    /// Takes a permit, sleeping until there is one.
    pub(crate) fn wait(&self) {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut permits = self.posted.wait_while(permits, |permits| *permits == 0).unwrap_or_else(PoisonError::into_inner);
        *permits -= 1;
    }
}
