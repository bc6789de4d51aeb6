//! Whether a worker is there to see the start of a region, or away: asleep, parked, or busy with tasks. A leader whose
//! own part of a loop is done stands in for the workers that are away (`region/stand_in.rs`), instead of waiting until
//! they come. The steps and the proof are in `docs/latecomers.md`.
//!
//! One word for each worker decides between the two: either the worker comes back first, and then runs its part
//! itself, or the leader excuses it first, and then the worker has nothing to do with that region any more. The word is
//! touched only when a worker goes away or comes back, and by a leader that has waited for a while. Regions that follow
//! one another closely never touch it.

use std::fmt;

use crate::sync::{AtomicU64, Ordering, fence};

/// The word: `PRESENT`, or the epoch of the last region that the worker need not run. While the worker is present, only
/// the worker changes the word, and while it is away, only a leader that excuses it.
pub(crate) struct Availability(AtomicU64);

/// The worker polls its start line, or runs its part of a region. No region has this epoch, which has 48 bits.
const PRESENT: u64 = u64::MAX;

impl Availability {
    /// A worker that is away, and has never been there.
    pub(crate) fn away() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Says of a worker that is about to be hired that it is away, and that it has no part in the region of `epoch` and
    /// in those before. No thread uses the word yet.
    pub(crate) fn reset(&self, epoch: u64) {
        // Relaxed: the team gets to know of the worker later, by a Release in `Hired::count_in`.
        self.0.store(epoch, Ordering::Relaxed);
    }

    /// Says that the calling worker goes away, after it has seen the regions up to `last_epoch`. After this call it
    /// must look at its start line once more, and come back if a region has started that includes it.
    pub(crate) fn leave(&self, last_epoch: u64) {
        // Relaxed: it publishes nothing. What the worker has done in earlier regions, it published as it left them.
        self.0.store(last_epoch, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `Team::wake_if_asleep`, which comes between the start of a region and the
        // leader's look at this word. Either the leader sees that the worker is away, or the worker sees the start.
        fence(Ordering::SeqCst);
    }

    /// Says that the calling worker, which was away, is there again. Returns the epoch of the last region that it need
    /// not run: the last from which it was excused, or else the one that it passed to `leave`.
    pub(crate) fn come_back(&self) -> u64 {
        // Acquire: pairs with the fence in `Team::wake_if_asleep`, which the leader executes between the start of a
        // region and its exchange in `try_excuse`. So a worker that finds itself excused then reads the start word of
        // that region or a later one, and does not take an earlier region for a new one.
        self.0.swap(PRESENT, Ordering::Acquire)
    }

    /// Excuses the worker from the region of `epoch`, which has started and includes it, if it is away. Returns whether
    /// that was done; the caller then runs the worker's part. If not, the worker runs its part itself, or has run it.
    pub(crate) fn try_excuse(&self, epoch: u64) -> bool {
        // Relaxed: the word is looked at again by the exchange.
        let seen = self.0.load(Ordering::Relaxed);
        // A worker that has run its part and then gone away has left this very epoch.
        seen != PRESENT
            && seen != epoch
            // Relaxed, both: a worker that comes back and finds itself excused learns of the start by the fence in
            // `Team::wake_if_asleep`, which the caller has executed before. If the exchange fails, the worker has come
            // back first, and the caller waits for its exit.
            && self.0.compare_exchange(seen, epoch, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl fmt::Debug for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.load(Ordering::Relaxed) {
            PRESENT => f.write_str("present"),
            epoch => write!(f, "away since region {epoch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_away_is_excused_once_from_each_region() {
        let availability = Availability::away();
        availability.reset(5);
        assert!(availability.try_excuse(6) && !availability.try_excuse(6));
        assert!(availability.try_excuse(8));
        assert_eq!(availability.come_back(), 8);
        assert!(!availability.try_excuse(9), "it is there");
    }

    #[test]
    fn a_worker_that_has_run_its_part_and_left_is_not_excused_from_it() {
        let availability = Availability::away();
        assert_eq!(availability.come_back(), 0);
        availability.leave(7);
        assert!(!availability.try_excuse(7));
        assert_eq!(availability.come_back(), 7);
    }
}
