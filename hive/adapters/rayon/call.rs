//! What the bees do while the queen runs a closure that uses rayon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use rayon_core::Yield;

use crate::sys::wait::WaitPolicy;

/// The first nap of a bee that has polled in vain; each further one is twice as long, up to the longest.
const FIRST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// One call of the closure.
pub(crate) struct RayonCall<'p> {
    /// On a line that nobody writes to before the end.
    poll_state: CachePadded<PollState<'p>>,
    /// The bees that nap, whom its end wakes.
    sleepers: CachePadded<Mutex<usize>>,
    ended: Condvar,
}

/// What the bees read between any two looks for jobs.
struct PollState<'p> {
    policy: &'p WaitPolicy,
    is_over: AtomicBool,
}

impl<'p> RayonCall<'p> {
    pub(crate) fn new(policy: &'p WaitPolicy) -> Self {
        Self {
            poll_state: CachePadded::new(PollState { policy, is_over: AtomicBool::new(false) }),
            sleepers: CachePadded::new(Mutex::new(0)),
            ended: Condvar::new(),
        }
    }

    /// Runs rayon's jobs until the call is over.
    pub(crate) fn run_jobs(&self) {
        let mut spinner = self.poll_state.policy.spinner();
        let mut sleep_time = FIRST_SLEEP;
        while !self.is_over() {
            if rayon_core::yield_now() == Some(Yield::Executed) {
                spinner = self.poll_state.policy.spinner();
                sleep_time = FIRST_SLEEP;
            } else if !spinner.spin_once() {
                self.sleep(sleep_time);
                sleep_time = LONGEST_SLEEP.min(sleep_time * 2);
            }
        }
    }

    /// What ends the call when it is dropped, by a panic too.
    pub(crate) fn end_on_drop(&self) -> impl Drop {
        struct EndGuard<'c, 'p>(&'c RayonCall<'p>);
        impl Drop for EndGuard<'_, '_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        EndGuard(self)
    }

    fn end(&self) {
        // Relaxed: who naps sees it by the lock below, and nothing is read on the strength of it otherwise: the region's end hands on everything.
        self.poll_state.is_over.store(true, Ordering::Relaxed);
        if *self.lock_sleepers() > 0 {
            self.ended.notify_all();
        }
    }

    fn is_over(&self) -> bool {
        // Relaxed: see `end`.
        self.poll_state.is_over.load(Ordering::Relaxed)
    }

    /// Sleeps for `duration`, or until the call is over.
    fn sleep(&self, duration: Duration) {
        let mut sleepers = self.lock_sleepers();
        // Under the lock: who ends the call takes it afterwards, and sees either that nobody naps or whom to wake.
        if self.is_over() {
            return;
        }
        *sleepers += 1;
        let woken = self.poll_state.policy.while_off_core(|| self.ended.wait_timeout(sleepers, duration));
        let (mut sleepers, _) = woken.unwrap_or_else(PoisonError::into_inner);
        *sleepers -= 1;
    }

    fn lock_sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
