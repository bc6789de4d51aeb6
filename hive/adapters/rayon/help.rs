//! What the bees do while the queen runs a closure that uses rayon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use rayon_core::Yield;

use crate::wait::WaitPolicy;

/// The first nap of a bee that has polled in vain; each further one is twice as long, up to the longest.
const FIRST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// One call of the closure.
pub(super) struct Call<'p> {
    /// On a line that nobody writes to before the end.
    seen: CachePadded<Seen<'p>>,
    /// The bees that nap, whom its end wakes.
    nappers: CachePadded<Mutex<usize>>,
    end: Condvar,
}

/// What the bees read between any two looks for jobs.
struct Seen<'p> {
    policy: &'p WaitPolicy,
    is_over: AtomicBool,
}

impl<'p> Call<'p> {
    pub(super) fn new(policy: &'p WaitPolicy) -> Self {
        Self {
            seen: CachePadded::new(Seen { policy, is_over: AtomicBool::new(false) }),
            nappers: CachePadded::new(Mutex::new(0)),
            end: Condvar::new(),
        }
    }

    /// Runs rayon's jobs until the call is over.
    pub(super) fn help(&self) {
        let mut patience = self.seen.policy.patience();
        let mut nap = FIRST_NAP;
        while !self.is_over() {
            if rayon_core::yield_now() == Some(Yield::Executed) {
                patience = self.seen.policy.patience();
                nap = FIRST_NAP;
            } else if !patience.poll_again() {
                self.nap(nap);
                nap = LONGEST_NAP.min(nap * 2);
            }
        }
    }

    /// What ends the call when it is dropped, by a panic too.
    pub(super) fn over_at_last(&self) -> impl Drop {
        struct Over<'c, 'p>(&'c Call<'p>);
        impl Drop for Over<'_, '_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        Over(self)
    }

    fn end(&self) {
        // Relaxed: who naps sees it by the lock below, and nothing is read on the strength of it otherwise: the region's end hands on everything.
        self.seen.is_over.store(true, Ordering::Relaxed);
        if *self.nappers() > 0 {
            self.end.notify_all();
        }
    }

    fn is_over(&self) -> bool {
        // Relaxed: see `end`.
        self.seen.is_over.load(Ordering::Relaxed)
    }

    /// Sleeps for `length`, or until the call is over.
    fn nap(&self, length: Duration) {
        let mut nappers = self.nappers();
        // Under the lock: who ends the call takes it afterwards, and sees either that nobody naps or whom to wake.
        if self.is_over() {
            return;
        }
        *nappers += 1;
        let woken = self.seen.policy.off_core(|| self.end.wait_timeout(nappers, length));
        let (mut nappers, _) = woken.unwrap_or_else(PoisonError::into_inner);
        *nappers -= 1;
    }

    fn nappers(&self) -> MutexGuard<'_, usize> {
        self.nappers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
