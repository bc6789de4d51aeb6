//! One call of `Hive::rayon`: what the bees of its region do while the queen runs a closure that uses rayon.
//!
//! Each bee other than the queen runs rayon's jobs ([`RayonCall::run_jobs`]) until the queen's closure has ended. A bee
//! that finds no job for a while sleeps for short times in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, PoisonError};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use rayon_core::Yield;

use crate::on_drop::on_drop;
use crate::sync::Mutex;
use crate::sys::wait::WaitPolicy;

/// How long a bee sleeps first after it has polled without finding a job. Each further sleep is twice as long, up to
/// the longest.
const FIRST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// The state that the bees of one call share.
#[derive(Default)]
pub(crate) struct RayonCall {
    /// Whether the closure has ended. The queen sets it, once. It has a cache line of its own, since the bees read it
    /// while they poll.
    is_over: CachePadded<AtomicBool>,
    /// The number of bees that sleep; the end of the call wakes them.
    sleepers: CachePadded<Mutex<usize>>,
    /// Signalled when the call has ended. Its mutex is `sleepers`.
    ended: Condvar,
}

impl RayonCall {
    /// Runs rayon's jobs until the call has ended.
    pub(crate) fn run_jobs(&self, policy: &WaitPolicy) {
        let mut spinner = policy.spinner();
        let mut sleep_time = FIRST_SLEEP;
        while !self.is_over() {
            // A job that was run makes the bee poll from the beginning: more may follow soon.
            if rayon_core::yield_now() == Some(Yield::Executed) {
                spinner = policy.spinner();
                sleep_time = FIRST_SLEEP;
            } else if !spinner.spin_once() {
                self.sleep(policy, sleep_time);
                sleep_time = LONGEST_SLEEP.min(sleep_time * 2);
            }
        }
    }

    /// Returns a guard that ends the call when it is dropped, by a panic of the closure as well, and wakes the bees
    /// that sleep.
    pub(crate) fn end_on_drop(&self) -> impl Drop {
        on_drop(|| {
            // Relaxed: a bee that goes to sleep sees the store by way of the lock below. A bee that polls reads nothing
            // else because of it; what the queen has written is published by the end of the region.
            self.is_over.store(true, Ordering::Relaxed);
            if *self.sleepers.lock() > 0 {
                self.ended.notify_all();
            }
        })
    }

    fn is_over(&self) -> bool {
        // Relaxed: see `end_on_drop`.
        self.is_over.load(Ordering::Relaxed)
    }

    /// Sleeps for `duration`, or until the call is over.
    fn sleep(&self, policy: &WaitPolicy, duration: Duration) {
        let mut sleepers = self.sleepers.lock();
        // Looks again under the lock. The queen takes the lock after she has set `is_over`; so either this bee sees
        // that the call has ended, or the queen sees that the bee sleeps and wakes it.
        if self.is_over() {
            return;
        }
        *sleepers += 1;
        let woken = policy.while_off_core(|| self.ended.wait_timeout(sleepers, duration));
        let (mut sleepers, _) = woken.unwrap_or_else(PoisonError::into_inner);
        *sleepers -= 1;
    }
}
