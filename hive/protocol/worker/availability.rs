//! Who runs a worker's part of a loop: the worker, or a leader in its name. A leader whose own part of a loop is done
//! stands in (`region/stand_in.rs`) for the workers that have not begun theirs: those that are away, which are asleep,
//! parked, or busy with tasks, and those that are present but have no CPU. The steps and the proof are in
//! `docs/latecomers.md`.
//!
//! A worker that is away has to come back by an exchange, which it loses if the leader has excused it first. One that
//! is present only writes down which region it begins, and looks whether somebody wants its part. The fence between the
//! two costs it nothing, because the leader executes a heavy one (`sys/asymmetric_fence.rs`): it has been waiting
//! anyway. So regions that follow one another closely touch nothing here that another bee writes to.

use crate::sync::{AtomicU64, Ordering, fence, light_fence};

/// What decides who runs the worker's next part. At first the worker is away, and has never been there.
#[derive(Default)]
pub(crate) struct Availability {
    /// If the worker is away: the epoch of the last region that it need not run. Only leaders that excuse it change the
    /// word then. If it is present: `PRESENT`, or the epoch of a region with the flag `WANTED`.
    word: AtomicU64,
    /// The epoch of the last region that the worker has begun while it was present. Only the worker writes it.
    begun: AtomicU64,
}

/// The flag in the word of a worker that is present: a leader wants to run its part of the region. Epochs have 48 bits.
const WANTED: u64 = 1 << 63;

/// The word of a worker that is present, and whose part nobody has wanted since it last looked.
const PRESENT: u64 = u64::MAX;

/// Whether this is the word of a worker that is away.
fn is_away(word: u64) -> bool {
    word & WANTED == 0
}

impl Availability {
    /// Says of a worker that is about to be hired that it is away, and that it has no part in the region of `epoch` and
    /// in those before. No thread uses the word yet.
    pub(crate) fn reset(&self, epoch: u64) {
        // Relaxed: the team gets to know of the worker later, by a Release in `Hired::count_in`.
        self.word.store(epoch, Ordering::Relaxed);
    }

    /// Says that the calling worker, which is present, begins its part of the region of `epoch`, unless it is excused
    /// from it. Returns whether it may begin; if not, it comes back as one that was away.
    #[inline(always)]
    pub(crate) fn begin(&self, epoch: u64) -> bool {
        // Relaxed, both: what the fences order. Either the leader sees below its own fence that the part has begun, or
        // the worker sees here that the leader wants it, or has it.
        self.begun.store(epoch, Ordering::Relaxed);
        // Pairs with the heavy fence in `Team::stand_in`.
        light_fence();
        self.word.load(Ordering::Relaxed) == PRESENT || self.keep_part()
    }

    /// Takes the part back that a leader wants. Returns whether the leader has not got it yet.
    #[cold]
    fn keep_part(&self) -> bool {
        let seen = self.word.load(Ordering::Relaxed);
        // Relaxed, all: if the leader has been first, `come_back` acquires what is to be known of the region.
        !is_away(seen) && self.word.compare_exchange(seen, PRESENT, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Says that the calling worker goes away, after it has seen the regions up to `last_epoch`. Returns the last that
    /// it need not run: that one, or a later one from which it is excused. After this call it must look at its start
    /// line once more, and come back if a region has started that includes it.
    pub(crate) fn leave(&self, last_epoch: u64) -> u64 {
        // Relaxed, all: it publishes nothing. What the worker has done in earlier regions, it published as it left
        // them. An exchange, because a leader may excuse the worker at the same time.
        let leave = |word| (!is_away(word)).then_some(last_epoch);
        let excused = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave).err();
        // SeqCst: pairs with the fence in `Team::wake_if_asleep`, which comes between the start of a region and the
        // leader's look at this word. Either the leader sees that the worker is away, or the worker sees the start.
        fence(Ordering::SeqCst);
        excused.unwrap_or(last_epoch)
    }

    /// Says that the calling worker, which was away or is excused, is there again. Returns the epoch of the last region
    /// that it need not run: the last from which it was excused, or else the one that it passed to `leave`.
    pub(crate) fn come_back(&self) -> u64 {
        // Acquire: pairs with the fence in `Team::wake_if_asleep`, which the leader executes between the start of a
        // region and its exchange in `try_excuse`. So a worker that finds itself excused then reads the start word of
        // that region or a later one, and does not take an earlier region for a new one.
        self.word.swap(PRESENT, Ordering::Acquire)
    }

    /// Says that the caller, who leads the region of `epoch`, wants to run the worker's part of it. Returns whether
    /// that takes a heavy fence before [`try_excuse`](Self::try_excuse): the worker is present, and has not begun.
    pub(crate) fn want(&self, epoch: u64) -> bool {
        // Relaxed, all: the heavy fence orders it. If the exchange fails, the worker comes or goes right now.
        let seen = self.word.load(Ordering::Relaxed);
        let wanted = epoch | WANTED;
        !is_away(seen)
            && !self.has_begun(epoch)
            && self.word.compare_exchange(seen, wanted, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Excuses the worker from the region of `epoch`, which has started and includes it, if it has not begun its part,
    /// and is away or, if the caller `is_fenced`, was [wanted](Self::want) before a heavy fence. Returns whether it is
    /// excused; the caller runs the part then.
    pub(crate) fn try_excuse(&self, epoch: u64, is_fenced: bool) -> bool {
        // Relaxed, here and below: the word is looked at again by the exchange. If that fails, the worker has come
        // back, or has found the flag; or it has gone away just now, and comes back before anything else, since it
        // finds the start.
        let seen = self.word.load(Ordering::Relaxed);
        // A worker that has run its part and then gone away has left this very epoch. One that is present has it with
        // the flag, if it was wanted. From the heavy fence on it finds the flag if it begins; if it has begun before,
        // this is seen here.
        let may_excuse =
            if is_away(seen) { seen != epoch } else { is_fenced && seen == epoch | WANTED && !self.has_begun(epoch) };
        // Relaxed, both: a worker that comes back and finds itself excused learns of the start by the fence in
        // `Team::wake_if_asleep`, which the caller has executed before. If the exchange fails, the worker runs its
        // part, and the caller waits for its exit.
        may_excuse && self.word.compare_exchange(seen, epoch, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Whether a region waits for the worker: it is in one, or one has started since that includes it and from which it
    /// is not excused. `includes`: whether the latest start includes it, if it has seen the regions up to this epoch.
    /// For a worker that is in the middle of a wait, or sleeps.
    pub(crate) fn is_awaited(&self, includes: impl FnOnce(u64) -> bool) -> bool {
        // Relaxed: the worker itself asks, or a thread that has ended its sleep. If it is just now excused it is
        // awaited for a moment longer.
        let seen = self.word.load(Ordering::Relaxed);
        // Before a worker takes a task or sleeps between regions it goes away. So one that is present is in a region.
        !is_away(seen) || includes(seen)
    }

    /// Whether the worker has begun its part of the region of `epoch`, as far as this thread can see.
    fn has_begun(&self, epoch: u64) -> bool {
        self.begun.load(Ordering::Relaxed) == epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_away_is_excused_once_from_each_region() {
        let availability = Availability::default();
        availability.reset(5);
        let excuses = [6, 6, 8].map(|epoch| availability.try_excuse(epoch, true));
        assert_eq!(excuses, [true, false, true]);
        assert_eq!(availability.come_back(), 8);
        assert!(!availability.try_excuse(9, true), "it is there");
    }

    #[test]
    fn a_worker_that_has_run_its_part_and_left_is_not_excused_from_it() {
        let availability = Availability::default();
        assert_eq!(availability.come_back(), 0);
        assert_eq!(availability.leave(7), 7);
        assert!(!availability.want(7));
        assert!(!availability.try_excuse(7, true));
        assert_eq!(availability.come_back(), 7);
    }

    #[test]
    fn a_worker_that_is_present_is_excused_if_it_is_wanted_before_it_begins() {
        let availability = Availability::default();
        availability.come_back();
        assert!(availability.begin(1));
        assert!(!availability.want(1) && !availability.try_excuse(1, true));
        assert!(!availability.try_excuse(2, true), "nobody has wanted it");
        assert!(availability.want(2));
        assert_eq!([false, true].map(|is_fenced| availability.try_excuse(2, is_fenced)), [false, true]);
        assert!(availability.try_excuse(3, true), "it has not come back since");
        assert!(!availability.begin(2));
        assert_eq!(availability.come_back(), 3);
        assert!(availability.begin(4));
        // It goes away without having seen that it is excused.
        assert!(availability.want(5));
        assert!(availability.try_excuse(5, true));
        assert_eq!(availability.leave(4), 5);
    }

    #[test]
    fn a_part_that_is_wanted_is_the_workers_if_it_begins_in_time() {
        let availability = Availability::default();
        availability.come_back();
        assert!(availability.want(3) && availability.begin(3));
        assert!(!availability.try_excuse(3, true));
        // Begun without a look at the flag, and left there.
        availability.begun.store(4, Ordering::Relaxed);
        availability.word.store(4 | WANTED, Ordering::Relaxed);
        assert!(!availability.try_excuse(4, true));
        assert!(availability.want(5));
    }
}
