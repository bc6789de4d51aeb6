//! A semaphore for one sleeper.

use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Condvar, Mutex};

/// How often a wait that ends by itself yields at most.
const MAX_YIELDS: u32 = 8;

pub(crate) struct Semaphore {
    permits: Mutex<u32>,
    posted: Condvar,
}

impl Semaphore {
    pub(crate) fn new() -> Self {
        Self { permits: Mutex::new(0), posted: Condvar::new() }
    }

    pub(crate) fn post(&self) {
        let mut permits = self.permits.lock().expect("nobody panics under this lock");
        *permits += 1;
        let now = *permits;
        drop(permits);
        assert_eq!(now, 1, "a semaphore is posted twice: one permit of them is stale");
        self.posted.notify_one();
    }

    /// Waits for a random number of steps, and then takes a permit if there is one. Returns whether there was.
    pub(crate) fn wait_for(&self, _time: Duration) -> bool {
        (0..thread_rng().gen_range(0..=MAX_YIELDS)).for_each(|_| shuttle::thread::yield_now());
        let mut permits = self.permits.lock().expect("nobody panics under this lock");
        let is_posted = *permits > 0;
        *permits -= u32::from(is_posted);
        is_posted
    }

    pub(crate) fn wait(&self) {
        let permits = self.permits.lock().expect("nobody panics under this lock");
        let mut permits =
            self.posted.wait_while(permits, |permits| *permits == 0).expect("nobody panics under this lock");
        *permits -= 1;
    }
}
