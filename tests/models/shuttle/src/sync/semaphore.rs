//! A semaphore for one sleeper.

use shuttle::sync::{Condvar, Mutex};

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

    pub(crate) fn wait(&self) {
        let permits = self.permits.lock().expect("nobody panics under this lock");
        let mut permits = self.posted.wait_while(permits, |permits| *permits == 0).expect("nobody panics under this lock");
        *permits -= 1;
    }
}
