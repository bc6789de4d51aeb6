//! What the help of the workers with loops is worth of late. Where a worker is present but does not come, because it
//! has no CPU, or where it loses its CPU in the middle of its part, a loop takes longer on the team than on its caller
//! alone. So a hive keeps an account of what loops gain by help and what they lose by it. When that is used up, loops
//! run on their callers for a while: the longer, the more time was lost, and the more often in a row.
//! `pool/lone_loops.rs` and `lone_parts.rs` ask, and the leaders of groups tell. The rules are in `docs/latecomers.md`.
//!
//! Where several hives have too few CPUs for all their threads, what one gains by its workers another one loses, and
//! all of them the time in which they wait for each other. So gains do not count there, and loops ask again only when a
//! CPU has nothing to do: to find that out by waking the workers would cost the others a time slice.
//!
//! It is guesswork about speed, and so several threads may use it without a lock, and an update may get lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::sys::clock;
use crate::sys::part_time::NANOS_OF_WAKING;
use crate::sys::run_queue::RunQueue;

/// How much longer than what was lost loops run on their callers.
const TIMES_OF_LOSS: u64 = 4;

/// The longest time for which they do, in nanoseconds. When a neighbour has gone, the team is back after that.
const LONGEST: u64 = 80_000_000;

/// What can be kept of what was gained, in nanoseconds. When a neighbour comes, so much is lost before loops run on
/// their callers. It has to cover what happens where nobody else is on the machine, such as a timer's interrupt.
const MOST_CREDIT: u64 = 1_000_000;

/// When loops ask again after a pause, so small a part of it may be lost before the next one, and at least a wake-up:
/// the workers have to wake up first.
const PAUSE_PER_CREDIT: u64 = 32;

/// At most once in this time it is looked up whether other hives take CPUs from this one, which takes some 20 us.
const BETWEEN_LOOKS: u64 = 1_000_000;

/// Whether loops ask for help.
pub(crate) struct Help(CachePadded<Words>);

#[derive(Default)]
struct Words {
    /// Until when loops run on their callers alone, as `clock` has it. 0: they ask for help.
    alone_until: AtomicU64,
    /// For how long they did the last time, halved with each entry since that has gained as much as it has lost.
    last_pause: AtomicU64,
    /// What help has gained, less what was lost, in nanoseconds.
    credit: AtomicU64,
    /// The number of the last loop.
    number: AtomicU64,
    /// What the last loop gains if all workers come, in nanoseconds, and all loops whose gains are not in `credit` yet.
    gain_of_last: AtomicU64,
    gains: AtomicU64,
    /// The number of the last loop to which a worker did not come that was present.
    missed_in: AtomicU64,
    /// Whether loops run on their callers because several hives have too few CPUs.
    is_shared: AtomicBool,
    /// When that was looked up last.
    looked_at: AtomicU64,
}

impl Help {
    pub(crate) fn new() -> Self {
        // No loop comes right after the one that is said to have missed a worker.
        let (credit, missed_in) = (AtomicU64::new(MOST_CREDIT), AtomicU64::new(u64::MAX - 1));
        Self(CachePadded::new(Words { credit, missed_in, ..Words::default() }))
    }

    /// If a loop is not to ask for help, returns the time.
    #[inline(always)]
    pub(crate) fn time_if_unwanted(&self) -> Option<u64> {
        // Relaxed, all in this file: hints.
        let alone_until = self.0.alone_until.load(Ordering::Relaxed);
        if alone_until == 0 { None } else { self.ask_again(alone_until, RunQueue::read_if_shared) }
    }

    /// `time_if_unwanted` where loops run on their callers until `alone_until`. `look`: [`RunQueue::read_if_shared`].
    #[cold]
    fn ask_again(&self, alone_until: u64, look: impl Fn() -> Option<RunQueue>) -> Option<u64> {
        let now = clock::nanos();
        // A clock may go back, where a process is restored.
        if now < alone_until && alone_until - now <= LONGEST {
            return Some(now);
        }
        if self.0.is_shared.load(Ordering::Relaxed) {
            if look().is_some_and(|queue| !queue.has_free_cpu()) {
                self.0.alone_until.store(now + LONGEST, Ordering::Relaxed);
                return Some(now);
            }
            self.0.is_shared.store(false, Ordering::Relaxed);
        }
        let last_pause = self.0.last_pause.load(Ordering::Relaxed);
        let credit = (last_pause / PAUSE_PER_CREDIT).clamp(NANOS_OF_WAKING, MOST_CREDIT);
        self.0.credit.fetch_max(credit, Ordering::Relaxed);
        self.0.alone_until.store(0, Ordering::Relaxed);
        None
    }

    /// Says that a loop begins, which ends sooner by `gain` nanoseconds if all workers come.
    #[inline(always)]
    pub(crate) fn begin_loop(&self, gain: u64) {
        let words = &self.0;
        words.number.store(words.number.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        words.gain_of_last.store(gain, Ordering::Relaxed);
        words.gains.store(words.gains.load(Ordering::Relaxed).saturating_add(gain), Ordering::Relaxed);
    }

    /// Enters into the account that help has cost the last loop `lost` nanoseconds, or has gained it `gained`; and what
    /// the loops before it, back to the last entry, were to gain. What this one was to gain is dropped: it is measured.
    #[cold]
    pub(crate) fn settle(&self, lost: u64, gained: u64) {
        self.settle_if(lost, gained, lost > 0 && self.is_shared_now());
    }

    /// Whether other hives take CPUs from this one, so that it is better off on its callers. Looks once in a while.
    fn is_shared_now(&self) -> bool {
        let (now, looked) = (clock::nanos(), self.0.looked_at.load(Ordering::Relaxed));
        if now.saturating_sub(looked) < BETWEEN_LOOKS {
            return false;
        }
        self.0.looked_at.store(now, Ordering::Relaxed);
        RunQueue::read_if_shared().is_some_and(RunQueue::has_share_of_one)
    }

    /// `settle`; `is_shared`: several hives have too few CPUs.
    fn settle_if(&self, lost: u64, gained: u64, is_shared: bool) {
        let gain_of_last = self.0.gain_of_last.swap(0, Ordering::Relaxed);
        let gained_before = self.0.gains.swap(0, Ordering::Relaxed).saturating_sub(gain_of_last);
        let (gained, credit) = if is_shared {
            (0, 0)
        } else {
            let gained = gained_before.saturating_add(gained);
            (gained, self.0.credit.load(Ordering::Relaxed).saturating_add(gained).min(MOST_CREDIT))
        };
        let (last_pause, uncovered) = (self.0.last_pause.load(Ordering::Relaxed), lost.saturating_sub(credit));
        self.0.credit.store(credit.saturating_sub(lost), Ordering::Relaxed);
        if uncovered == 0 {
            // What was gained since the last entry covers the loss, if there was one: the next pause begins short.
            if gained >= lost {
                self.0.last_pause.store(last_pause / 2, Ordering::Relaxed);
            }
            return;
        }
        let pause = uncovered.saturating_mul(TIMES_OF_LOSS).max(2 * last_pause).min(LONGEST);
        self.0.last_pause.store(pause, Ordering::Relaxed);
        self.0.is_shared.store(is_shared, Ordering::Relaxed);
        self.0.alone_until.store(clock::nanos() + pause, Ordering::Relaxed);
    }
}

/// How long a leader has waited for a worker that is present and has not come, before it looks who has.
const NANOS_UNTIL_LATE: u64 = 2_000;

/// What a leader learns from one loop, as it takes the parts that nobody has begun.
pub(crate) struct HelpOfLoop<'h> {
    help: &'h Help,
    /// When the leader began to look who has come.
    begin: u64,
    /// Whether some workers were asleep as the loop began. They come late for another reason, and the leader has looked
    /// at once.
    some_asleep: bool,
    /// Whether a worker that is present has not come.
    is_missed: bool,
    /// Whether one did not come to the last loop. It counts as away until it comes.
    was_missed: bool,
    /// How many workers have begun their parts.
    have_come: u64,
    /// How many parts the leader has run in the place of others, and how long that has taken.
    parts: u64,
    nanos_of_parts: u64,
}

impl<'h> HelpOfLoop<'h> {
    /// At the time `begin` the leader began to look. `is_missed`: some worker is present and has not come.
    pub(crate) fn new(help: &'h Help, begin: u64, some_asleep: bool, is_missed: bool) -> Self {
        let number = help.0.number.load(Ordering::Relaxed);
        let was_missed = !some_asleep && help.0.missed_in.load(Ordering::Relaxed).wrapping_add(1) == number;
        Self { help, begin, some_asleep, is_missed, was_missed, have_come: 0, parts: 0, nanos_of_parts: 0 }
    }

    /// Notes that a worker has begun its part.
    pub(crate) fn note_worker(&mut self) {
        self.have_come += 1;
    }

    /// Notes that a part has been run in a worker's place, since `begin`.
    pub(crate) fn note_part(&mut self, begin: u64) {
        self.parts += 1;
        self.nanos_of_parts += clock::nanos_since(begin);
    }

    /// Enters the loop into the account, if it has missed a worker.
    pub(crate) fn end(self) {
        if self.is_missed || (self.was_missed && self.parts > 0) {
            let number = self.help.0.number.load(Ordering::Relaxed);
            // Of several leaders only the first counts, because they look at the same time.
            if self.help.0.missed_in.swap(number, Ordering::Relaxed) != number {
                let until_late = if self.some_asleep { 0 } else { NANOS_UNTIL_LATE };
                let looked = clock::nanos_since(self.begin).saturating_sub(self.nanos_of_parts);
                let gain = self.help.0.gain_of_last.load(Ordering::Relaxed);
                let gained = gain.saturating_mul(self.have_come) / (self.have_come + self.parts).max(1);
                self.help.settle(until_late + looked, gained);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// So many loops begin, each of which would gain 10 us, and the last one loses so much.
    fn lose(help: &Help, loops: u64, lost: u64) {
        (0..loops).for_each(|_| help.begin_loop(10_000));
        help.settle_if(lost, 0, false);
    }

    /// That does not look at what other tests do.
    fn quiet_help() -> Help {
        let help = Help::new();
        help.0.looked_at.store(u64::MAX, Ordering::Relaxed);
        help
    }

    fn pause(help: &Help) -> u64 {
        match help.0.alone_until.load(Ordering::Relaxed) {
            0 => 0,
            _ => help.0.last_pause.load(Ordering::Relaxed),
        }
    }

    #[test]
    fn what_help_gains_covers_what_is_lost_now_and_then() {
        let help = Help::new();
        (0..10_000).for_each(|_| lose(&help, 4, 30_000));
        assert!(help.time_if_unwanted().is_none());
        lose(&help, 1, 100_000_000);
        assert!(help.time_if_unwanted().is_some(), "that is more than can be kept");
    }

    #[test]
    fn when_the_credit_is_used_up_loops_run_alone_for_a_while() {
        let help = Help::new();
        let losses = (1..).find(|_| {
            lose(&help, 2, 40_000);
            help.time_if_unwanted().is_some()
        });
        assert_eq!(losses, Some(34), "each takes 30 us of a millisecond");
        thread::sleep(Duration::from_millis(1));
        assert!(help.time_if_unwanted().is_none() && help.time_if_unwanted().is_none());
    }

    #[test]
    fn beside_other_hives_a_loss_ends_the_help_until_a_cpu_is_free() {
        let help = Help::new();
        (0..1_000).for_each(|_| help.begin_loop(10_000));
        help.settle_if(2_000, 0, false);
        assert_eq!(pause(&help), 0, "the gains cover it");
        (0..1_000).for_each(|_| help.begin_loop(10_000));
        help.settle_if(2_000, 0, true);
        assert_eq!(pause(&help), 8_000);
        let past = clock::nanos() - LONGEST;
        assert!(help.ask_again(past, || Some(RunQueue::of(2, 1, 2))).is_some(), "each CPU has a thread");
        assert!(help.0.alone_until.load(Ordering::Relaxed) > past + LONGEST);
        assert!(help.ask_again(past, || Some(RunQueue::of(1, 1, 2))).is_none());
        assert!(help.ask_again(past, || Some(RunQueue::of(2, 1, 2))).is_none(), "the next pause has another reason");
        help.0.is_shared.store(true, Ordering::Relaxed);
        assert!(help.ask_again(past, || None).is_none(), "the other hives have gone");
    }

    #[test]
    fn pauses_grow_while_nothing_changes_and_end() {
        let help = Help::new();
        help.0.credit.store(0, Ordering::Relaxed);
        let pauses = [(); 40].map(|()| {
            lose(&help, 1, 1_000);
            pause(&help)
        });
        assert!(pauses.is_sorted() && pauses[0] == 4_000 && pauses[3] == 32_000, "{pauses:?}");
        assert_eq!(pauses[39], LONGEST);
        (0..40).for_each(|_| lose(&help, 100, 1_000));
        help.0.credit.store(0, Ordering::Relaxed);
        lose(&help, 1, 1_000);
        assert_eq!(pause(&help), 4_000);
    }

    #[test]
    fn only_who_was_present_is_missed() {
        let help = quiet_help();
        let is_missed = |is_late, excused| {
            help.begin_loop(0);
            let mut loop_ = HelpOfLoop::new(&help, clock::nanos(), false, is_late);
            if excused {
                loop_.note_part(clock::nanos())
            } else {
                loop_.note_worker()
            }
            loop_.end();
            help.0.missed_in.load(Ordering::Relaxed) == help.0.number.load(Ordering::Relaxed)
        };
        assert!(!is_missed(false, true), "it was away");
        assert!(is_missed(true, true));
        assert!(is_missed(false, true), "it has not come since");
        assert!(!is_missed(false, false));
        assert!(!is_missed(false, true), "it has gone away");
    }

    #[test]
    fn workers_that_come_after_all_gain_what_they_do() {
        let help = quiet_help();
        help.0.credit.store(0, Ordering::Relaxed);
        (0..10).for_each(|_| help.begin_loop(10_000));
        let mut loop_ = HelpOfLoop::new(&help, clock::nanos(), false, true);
        loop_.note_worker();
        loop_.end();
        assert!(help.time_if_unwanted().is_none(), "100 us cover a look");
    }
}
