//! What the help of the workers with loops has been worth of late. Where a worker is present but does not come, because
//! it has no CPU, or where it loses its CPU in the middle of its part, a loop takes longer on the team than on its
//! caller alone. Then loops run on their callers for a while: the longer, the more time was lost, so that no more than
//! a small part of all time can be lost so. `pool/lone_loops.rs` asks, and the leaders of groups tell.
//!
//! It is guesswork about speed, and so several threads may use it without a lock, and an update may get lost.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::sys::clock;

/// How much longer than what was lost loops run on their callers. Not much, because it may be chance: a timer's
/// interrupt, or something that the system does once in a second.
const TIMES_OF_LOSS: u64 = 4;

/// The longest time for which they do, in nanoseconds. When a neighbour has gone, the team is back after that.
const LONGEST: u64 = 80_000_000;

/// If time is lost so soon again after loops have asked for help again, nothing has changed in between: within this
/// time, or within so many times what was lost.
const SOON: u64 = 100_000;
const SOON_IN_LOSSES: u64 = 16;

/// Whether loops ask for help.
pub(crate) struct Help(CachePadded<Words>);

struct Words {
    /// Until when loops run on their callers alone, as `clock` has it. 0: they ask for help.
    alone_until: AtomicU64,
    /// When they asked again last, and for how long they had not. 0: there was no such time.
    asked_again: AtomicU64,
    last_pause: AtomicU64,
    /// The epoch of the last loop to which a worker did not come that is present.
    missed_in: AtomicU64,
    /// For how long the queen has waited, at the end of her last loop, for workers that had begun their parts; 0 if
    /// that was not long.
    waited: AtomicU64,
}

impl Help {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self(CachePadded::new(Words {
            alone_until: zero(),
            asked_again: zero(),
            last_pause: zero(),
            // No loop comes right after that.
            missed_in: AtomicU64::new(u64::MAX - 1),
            waited: zero(),
        }))
    }

    /// Whether a loop is to ask for help.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        // Relaxed, all in this file: hints.
        let alone_until = self.0.alone_until.load(Ordering::Relaxed);
        alone_until == 0 || self.ask_again(alone_until)
    }

    #[cold]
    fn ask_again(&self, alone_until: u64) -> bool {
        let now = clock::nanos();
        let is_over = now >= alone_until;
        if is_over {
            self.0.asked_again.store(now, Ordering::Relaxed);
            self.0.alone_until.store(0, Ordering::Relaxed);
        }
        is_over
    }

    /// Says that a loop has taken so many nanoseconds longer because of a worker without a CPU. The next ones run on
    /// their callers.
    #[cold]
    pub(crate) fn note_loss(&self, lost: u64) {
        let (now, last) = (clock::nanos(), self.0.last_pause.load(Ordering::Relaxed));
        let soon = SOON.max(lost.saturating_mul(SOON_IN_LOSSES));
        let is_repeated = now.saturating_sub(self.0.asked_again.load(Ordering::Relaxed)) < soon;
        let pause = lost.saturating_mul(TIMES_OF_LOSS).max(if is_repeated { 2 * last } else { 0 }).min(LONGEST);
        self.0.last_pause.store(pause, Ordering::Relaxed);
        self.0.alone_until.store(now + pause, Ordering::Relaxed);
    }

    /// Says that the queen has waited so long at the end of a loop.
    #[cold]
    pub(crate) fn note_wait(&self, nanos: u64) {
        self.0.waited.store(nanos, Ordering::Relaxed);
    }

    /// How long she has waited since this was asked last, if that was long.
    #[inline(always)]
    pub(crate) fn take_wait(&self) -> Option<u64> {
        let waited = self.0.waited.load(Ordering::Relaxed);
        (waited > 0).then(|| self.0.waited.swap(0, Ordering::Relaxed))
    }
}

/// Whether a worker was excused from a region: whether the leader runs its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// It runs its part itself, or has run it.
    None,
    /// It was away.
    WasAway,
    /// It was present, but has not begun: it had no CPU, or was slow.
    WasLate,
}

/// How long a leader has waited for a worker that is present and has not come, before it looks who has.
const NANOS_UNTIL_LATE: u64 = 2_000;

/// What a leader learns from one loop, as it takes the parts that nobody has begun.
pub(crate) struct HelpOfLoop<'h> {
    help: &'h Help,
    epoch: u64,
    /// Whether a worker that is present did not come to the loop before this one.
    was_missing: bool,
    /// How long the leader was busy with workers that are missing; 0 if none is.
    lost: u64,
    /// How many workers have begun their parts.
    have_come: u64,
    /// How many parts the leader has run in the place of others, and how long that has taken.
    parts: u64,
    nanos_of_parts: u64,
}

impl<'h> HelpOfLoop<'h> {
    pub(crate) fn new(help: &'h Help, epoch: u64) -> Self {
        let was_missing = help.0.missed_in.load(Ordering::Relaxed).wrapping_add(1) == epoch;
        Self { help, epoch, was_missing, lost: 0, have_come: 0, parts: 0, nanos_of_parts: 0 }
    }

    /// Notes whether a worker was excused, which the leader has tried since `begin`. Returns the time.
    pub(crate) fn note_excuse(&mut self, excuse: Excuse, begin: u64) -> u64 {
        let now = clock::nanos();
        match excuse {
            Excuse::None => self.have_come += 1,
            // A worker that was missing before counts as away until it comes.
            Excuse::WasAway if !self.was_missing => {}
            _ => self.lost += now.saturating_sub(begin).max(1),
        }
        now
    }

    /// Notes that a part has been run since `begin`. Returns the time.
    pub(crate) fn note_part(&mut self, begin: u64) -> u64 {
        let now = clock::nanos();
        self.parts += 1;
        self.nanos_of_parts += now.saturating_sub(begin);
        now
    }

    /// Learns from the loop. If those that have come have saved less time than the others have cost, twice in a row,
    /// that is a loss.
    pub(crate) fn end(self) {
        let saved = self.have_come * (self.nanos_of_parts / self.parts.max(1));
        let lost = self.lost + NANOS_UNTIL_LATE;
        if self.lost == 0 || lost <= saved {
            return;
        }
        let missed_in = self.help.0.missed_in.swap(self.epoch, Ordering::Relaxed);
        if missed_in.wrapping_add(1) == self.epoch {
            self.help.note_loss(lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A loop to which so many workers have come, whose parts take 10 us, and another one has not.
    fn miss(help: &Help, epoch: u64, have_come: u64) {
        let begun = HelpOfLoop::new(help, epoch);
        HelpOfLoop { lost: 1_000, have_come, parts: 1, nanos_of_parts: 10_000, ..begun }.end();
    }

    #[test]
    fn help_is_not_wanted_after_two_misses_in_a_row() {
        let help = Help::new();
        miss(&help, 7, 0);
        miss(&help, 9, 0);
        assert!(help.is_wanted());
        miss(&help, 10, 0);
        assert!(help.0.alone_until.load(Ordering::Relaxed) > 0);
        // Four times the loss.
        thread::sleep(Duration::from_millis(2));
        assert!(help.is_wanted() && help.is_wanted());
    }

    #[test]
    fn others_that_come_are_worth_waiting_for() {
        let help = Help::new();
        (1..5).for_each(|epoch| miss(&help, epoch, 2));
        assert!(help.is_wanted());
    }

    #[test]
    fn pauses_grow_while_nothing_changes_and_end() {
        let help = Help::new();
        let pauses = [(); 40].map(|()| {
            // Not in the past, however long this thread may lose its CPU.
            help.0.asked_again.store(u64::MAX, Ordering::Relaxed);
            help.note_loss(1_000);
            help.0.last_pause.load(Ordering::Relaxed)
        });
        assert!(pauses.is_sorted() && pauses[0] == 4_000 && pauses[3] == 32_000, "{pauses:?}");
        assert_eq!(pauses[39], LONGEST);
        help.0.asked_again.store(0, Ordering::Relaxed);
        help.note_loss(1_000);
        assert_eq!(help.0.last_pause.load(Ordering::Relaxed), 4_000);
    }

    #[test]
    fn only_who_was_present_is_missed() {
        let help = Help::new();
        let lost = |epoch, excuse| {
            let mut help_of_loop = HelpOfLoop::new(&help, epoch);
            help_of_loop.note_excuse(excuse, 0);
            (help_of_loop.lost > 0, help_of_loop.have_come)
        };
        assert_eq!(lost(3, Excuse::None), (false, 1));
        assert_eq!(lost(3, Excuse::WasAway), (false, 0));
        assert_eq!(lost(3, Excuse::WasLate), (true, 0));
        miss(&help, 4, 0);
        assert_eq!(lost(5, Excuse::WasAway), (true, 0), "it has not come since");
    }

    #[test]
    fn a_wait_is_told_once() {
        let help = Help::new();
        help.note_wait(5);
        assert_eq!((help.take_wait(), help.take_wait()), (Some(5), None));
    }
}
