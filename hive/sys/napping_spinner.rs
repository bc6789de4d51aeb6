//! The spinner of waits whose end nobody announces to a thread that sleeps: it naps.

use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use crate::sys::presence::while_off_core;
use crate::sys::spinner::Spinner;
use crate::sys::wait::WaitPolicy;

/// The shortest and the longest nap: see [`NappingSpinner`].
const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// How long a wait goes on yielding before its first nap, for each bee of the row of bees that wait one for another. It
/// is more than the shortest nap takes, with what the kernel adds to it.
const YIELD_TIME: Duration = Duration::from_micros(200);

/// A nap takes this part of the time waited so far, again for each bee of the row.
const WAIT_PER_NAP: u32 = 8;

impl WaitPolicy {
    /// The spinner for a wait whose end nobody announces to a thread that sleeps. `row`: up to how many bees wait in a
    /// row, each for the one before; 1 if what the thread waits for does not itself wait in this way.
    #[inline(always)]
    pub(crate) fn napping_spinner(&self, row: u32) -> NappingSpinner<'_> {
        NappingSpinner { spinner: self.spinner(), row, over_since: None }
    }
}

/// The spinner of a wait whose end nobody announces to a thread that sleeps: the thread that ends the wait only writes
/// what the waiter polls. Where other waits sleep until they are woken, this one naps: it sleeps for a short time,
/// polls again, and sleeps for a little longer. So it leaves its core to others, even where the kernel lets no other
/// thread run beside one that polls or yields, as under SCHED_FIFO.
///
/// A semaphore would end such a wait sooner, but there is no single thread that could post it, and each thread that
/// ends a wait would have to look for sleepers first, with a fence between its write and that look. In `ordered` that
/// write is one plain store, which each index makes.
///
/// A nap ends late, by half its length on average and by what the kernel adds. Where bees wait in a row, each for the
/// one before, as in `ordered`, the delays of the whole row add up, and are part of each bee's next wait. If naps took
/// more of a wait than one part for each bee of the row, all bees would nap in each wait only because the others do,
/// and would never come back to polling. That is why `row` sets how late naps begin and how long they are.
pub(crate) struct NappingSpinner<'p> {
    spinner: Spinner<'p>,
    /// How many bees may wait in a row.
    row: u32,
    /// When the polling came to an end, that is, when `spinner` first said that it is time to sleep. None: it has not.
    over_since: Option<Instant>,
}

impl NappingSpinner<'_> {
    /// Call this after a poll that has found nothing, and then poll again. Returns whether the thread has napped in
    /// between.
    ///
    /// A nap is followed by a poll before the next one. If polls are wanted again by then (`keep_spinning`,
    /// or CPUs that were short are free), the wait polls on.
    #[inline(always)]
    pub(crate) fn spin_or_nap(&mut self) -> bool {
        !self.spinner.spin_once() && self.nap_if_due()
    }

    /// See [`Spinner::time_waited`].
    #[inline(always)]
    pub(crate) fn time_waited(&self) -> Option<Duration> {
        self.spinner.time_waited()
    }

    /// Naps, unless the wait has to yield for longer before its first nap. Returns whether it has napped.
    #[cold]
    fn nap_if_due(&mut self) -> bool {
        let now = Instant::now();
        let waited = now.duration_since(*self.over_since.get_or_insert(now));
        if waited < YIELD_TIME.saturating_mul(self.row) {
            // Here yields pay, long or not: the shortest nap takes longer than most of them, and is no wake-up.
            yield_now();
            return false;
        }
        let nap = (waited / WAIT_PER_NAP / self.row.max(1)).clamp(SHORTEST_NAP, LONGEST_NAP);
        // A worker that naps is not counted among the threads that want a core.
        while_off_core(|| sleep(nap));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cpu_mask::CpuMask;

    #[test]
    fn naps_begin_later_in_a_longer_row_and_grow() {
        let policy = WaitPolicy::new(Duration::ZERO, None, usize::MAX, CpuMask::new());
        for row in [1, 10] {
            let mut spinner = policy.napping_spinner(row);
            let mut time_until_nap = || {
                let start = Instant::now();
                while !spinner.spin_or_nap() {}
                start.elapsed()
            };
            assert!(time_until_nap() >= YIELD_TIME * row + SHORTEST_NAP);
            assert!(time_until_nap() >= SHORTEST_NAP);
            let long_ago = Instant::now().checked_sub(Duration::from_secs(1)).expect("the clock began before");
            spinner.over_since = Some(long_ago);
            let start = Instant::now();
            while !spinner.spin_or_nap() {}
            assert!(start.elapsed() >= LONGEST_NAP);
        }
    }

    #[test]
    fn an_endless_spin_takes_no_nap() {
        let policy = WaitPolicy::new(Duration::MAX, None, usize::MAX, CpuMask::new());
        let mut spinner = policy.napping_spinner(1);
        assert!((0..10_000).all(|_| !spinner.spin_or_nap()));
    }
}
