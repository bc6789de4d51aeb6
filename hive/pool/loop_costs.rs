//! What a call says of its loop; what a hive knows of the costs of its loops; and what it makes of that: whether it
//! pays to wake the workers for a loop, or to wait for the team, or whether the caller is better off alone.
//! `lone_parts.rs` and `lone_loops.rs` ask before they run a loop, and record afterwards how long it has taken. The
//! rules, with their reasons, are in `docs/lone-loops.md`.
//!
//! All of this is guesswork about speed: whatever it says, a loop gives the same result. So several threads may use it
//! at the same time without a lock, and an update may get lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::observe::body_times::BodyTimes;
use crate::sys::part_time::NANOS_OF_WAKING;

/// The help that loops have missed is forgotten as time passes: one nanosecond of it in so many that pass. A worker
/// that stays awake for loops polls all the time between them, so it has to save at least this part of the time.
const FORGET_ONE_IN: u64 = 8;

/// To start a loop on a team that is awake, and to meet at its end, takes about so many nanoseconds.
pub(super) const NANOS_OF_START: u64 = 150;

/// A loop that gains more than so many nanoseconds by help asks for it even if it has been worth nothing of late: a
/// worker without a CPU gets one after a few milliseconds.
pub(super) const GAIN_OF_LONG: u64 = 4_000_000;

/// Of the loops that find the team awake, and of those that are too short for it, one in so many is timed.
const LOOPS_PER_TIMING: u64 = 16;

/// Of the loops that gain little by the team, one in so many is run alone.
pub(super) const LOOPS_PER_TRIAL: u64 = 64;

/// Whether to time the loop with this number, among the regions, the lone loops, or both.
#[inline(always)]
pub(super) fn is_one_to_time(number: u64) -> bool {
    is_one_in(LOOPS_PER_TIMING, number)
}

/// Whether this number is one of those that are drawn, one in `many`. Those that are drawn from more are drawn from
/// fewer as well.
#[inline(always)]
pub(super) fn is_one_in(many: u64, number: u64) -> bool {
    // By a hash: programs run their loops in turn, and each of these is to be drawn.
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) < u64::MAX / many
}

/// The costs of the loops of one hive.
pub(crate) struct LoopCosts {
    /// How long one thread takes for one index.
    times_per_index: BodyTimes,
    /// How long a team takes for one index of a short loop, by body and length (`LoopSize::hash_with_length`).
    team_times: BodyTimes,
    /// How much sooner loops that ran on their callers alone would have ended with the help of the workers, in
    /// nanoseconds, less what has been forgotten.
    missed_help: AtomicU64,
    /// When help was counted as missed last, as `sys/clock.rs` has it.
    missed_at: AtomicU64,
}

/// The loop that is about to run: the hash of its body, which tells it from others, the number of its indices, and how
/// these are shared.
#[derive(Clone, Copy)]
pub(crate) struct LoopSize {
    pub(crate) body: u64,
    pub(crate) indices: usize,
    pub(crate) sharing: Sharing,
}

impl LoopSize {
    /// A hash of the body and of the binary logarithm of the number of indices.
    #[inline(always)]
    fn hash_with_length(self) -> u64 {
        self.body ^ u64::from((self.indices | 1).ilog2()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// How the bees of a loop share its indices. What the length of the queen's part says of a whole loop depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each has a part of its own, and these are about equally long.
    EqualParts,
    /// Who comes sooner, or is faster, gets more.
    AsTheyCome,
}

/// A loop on a team of at least two bees.
#[derive(Clone, Copy)]
pub(crate) struct LoopCall {
    pub(crate) bees: u32,
    /// Whether the program has asked for so many bees, by a plan. A hive that has fewer when the loop starts is made
    /// larger then. If the program has not asked, the hive had so many when the loop was called. If it has been made
    /// smaller since, it stays so, and the bees that are surplus take part all the same.
    pub(crate) is_planned: bool,
    /// Whether the body, as the only bee of a team of one, does all of the loop.
    pub(crate) may_run_as_one: bool,
    pub(crate) size: LoopSize,
}

/// Who may run which part of a loop.
#[derive(Clone, Copy)]
pub(crate) enum LoopKind {
    /// The parts belong to bees by their numbers.
    OfBees(Sharing),
    /// The body does not know which bee it runs on: as the only bee of a team of one, it does all of the loop.
    Anonymous(Sharing),
    /// As `Anonymous`, for a loop whose cost is learned under this hash in place of that of its body.
    KnownBy(u64, Sharing),
}

impl LoopKind {
    /// How the bees of the loop share its indices.
    pub(crate) fn sharing(self) -> Sharing {
        let (Self::OfBees(sharing) | Self::Anonymous(sharing) | Self::KnownBy(_, sharing)) = self;
        sharing
    }
}

impl LoopCosts {
    pub(crate) fn new() -> Self {
        let (times_per_index, team_times) = (BodyTimes::new(), BodyTimes::new());
        Self { times_per_index, team_times, missed_help: AtomicU64::new(0), missed_at: AtomicU64::new(0) }
    }

    /// How many nanoseconds one thread would take for the loop, to judge by earlier loops with this body. None: nothing
    /// is known.
    #[inline]
    pub(crate) fn expected(&self, size: LoopSize) -> Option<u64> {
        let nanos_per_index = self.times_per_index.nanos(size.body)?;
        Some((f64::from(nanos_per_index) * size.indices as f64) as u64)
    }

    /// How many nanoseconds sooner the loop would end on a team of `bees` that is awake. None: nothing is known.
    ///
    /// A short loop may gain less than its length says, since what one bee writes and another one reads goes from cache
    /// to cache. So its time on the team of late sets a limit.
    #[inline(always)]
    pub(crate) fn gain(&self, size: LoopSize, bees: u32) -> Option<u64> {
        let alone = self.expected(size)?;
        let gain = gain_of(alone, bees);
        if gain <= NANOS_OF_START || alone > NANOS_OF_WAKING {
            return Some(gain);
        }
        let on_team = self.team_times.nanos(size.hash_with_length()).map(|nanos| (nanos * size.indices as f32) as u64);
        // The start is in the team's time, and not in `alone`.
        Some(on_team.map_or(gain, |on_team| gain.min((alone + NANOS_OF_START).saturating_sub(on_team))))
    }

    /// Whether the loop is guessed to be short: one thread has not run one with this body yet.
    pub(super) fn is_short_guess(&self, size: LoopSize) -> bool {
        let is_short = self.expected(size).is_some_and(|expected| expected <= NANOS_OF_WAKING);
        is_short && !self.times_per_index.is_measured(size.body)
    }

    /// How many nanoseconds are expected, if that is no guess: one thread has run a loop with this body.
    pub(crate) fn measured(&self, size: LoopSize) -> Option<u64> {
        self.times_per_index.is_measured(size.body).then(|| self.expected(size)).flatten()
    }

    /// Records that one thread took so many nanoseconds for the loop.
    #[inline]
    pub(crate) fn record(&self, size: LoopSize, took: u64) {
        self.record_and_keep(size, took as f32, 0.5);
        // So that it is tried on the team again.
        self.team_times.forget_some(size.hash_with_length());
    }

    /// Records that a team of so many bees that was awake took so many nanoseconds for the loop.
    pub(crate) fn record_on_team(&self, size: LoopSize, took: u64, bees: u32) {
        // Of a longer one it would not be asked.
        let alone = self.expected(size).filter(|alone| *alone <= NANOS_OF_WAKING && size.indices > 0);
        if let Some(alone) = alone {
            let assumed = alone as f32 / size.indices as f32 / bees as f32;
            self.team_times.record_middle(size.hash_with_length(), took as f32 / size.indices as f32, assumed);
        }
    }

    /// Records how long one thread would have taken for the loop, to judge by `part`: how long the queen took for her
    /// part of it, while the workers of a team of `bees` were woken. `delay`: for how many nanoseconds of that she was
    /// alone. Her part may be shorter than theirs, so a longer time that is known is forgotten more slowly.
    pub(crate) fn record_part(&self, size: LoopSize, part: Duration, bees: u32, delay: u64) {
        let guess = guess_of_all(part.as_nanos() as u64, bees, size.sharing, delay);
        match self.measured(size) {
            // A guess that is about right says little new of what was measured. But what was measured at a bad moment
            // is not to stay for ever.
            Some(known) if (known / 2..=known.saturating_mul(2)).contains(&guess) => {
                if guess < known {
                    self.record_and_keep(size, guess as f32, 0.98);
                }
            }
            // Nothing was measured, or the guess is far from it. A negative time is a guess (`BodyTimes::record`), so
            // `measured` knows nothing of this loop until one thread has run it alone again.
            _ => self.record_and_keep(size, -(guess as f32), 0.875),
        }
    }

    /// Records the time; `keep`: see [`BodyTimes::record`]. To run a long loop alone costs more than to wake the
    /// workers for a short one, so the longer times of a body count for longer.
    #[inline]
    fn record_and_keep(&self, size: LoopSize, took: f32, keep: f32) {
        // What a loop costs that has no indices says nothing of those that have.
        if size.indices > 0 {
            self.times_per_index.record(size.body, took / size.indices as f32, keep);
        }
    }

    /// Whether it pays to wake the workers for a loop that begins at `now` and would end `gain` nanoseconds sooner if
    /// they were awake. That is so if the gain is greater than the `loss` by waking them, counting the gain that loops
    /// before this one have missed in quick succession. If it does not pay, the gain of this loop is counted as missed.
    #[inline]
    pub(crate) fn pays_to_wake(&self, gain: u64, loss: u64, now: u64) -> bool {
        // Relaxed, here and below: hints. If two threads do this at the same time, the gain of one of them is not
        // counted.
        let passed = now.saturating_sub(self.missed_at.load(Ordering::Relaxed));
        let sum = self.missed_help.load(Ordering::Relaxed).saturating_sub(passed / FORGET_ONE_IN).saturating_add(gain);
        let pays = sum > loss;
        if !pays {
            self.missed_help.store(sum, Ordering::Relaxed);
            self.missed_at.store(now, Ordering::Relaxed);
        }
        pays
    }

    /// Says that the workers are woken for a loop: from here on no help has been missed.
    pub(crate) fn forget_missed_help(&self) {
        self.missed_help.store(0, Ordering::Relaxed);
    }
}

/// How many nanoseconds sooner a loop ends on a team of `bees` that is awake, of which one thread takes `alone`.
#[inline(always)]
pub(crate) fn gain_of(alone: u64, bees: u32) -> u64 {
    alone - alone / u64::from(bees)
}

/// Whether the gain by a team that is awake is less than what it costs to start a loop on it.
#[inline(always)]
pub(crate) fn is_small_gain(nanos: u64) -> bool {
    nanos <= NANOS_OF_START
}
/// How long one thread would take for a loop of which the queen has run a part in this time, of which she was alone for
/// `delay` while workers were woken. All times are in nanoseconds.
fn guess_of_all(part: u64, bees: u32, sharing: Sharing, delay: u64) -> u64 {
    match sharing {
        Sharing::EqualParts => part.saturating_mul(bees.into()),
        // At first she was alone, and then the others have run as much as she has.
        Sharing::AsTheyCome => part.saturating_add(part.saturating_sub(delay).saturating_mul(u64::from(bees) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::region::body::BodyFn;
    use crate::region::bee::{Bee, UserBody};

    fn size_of<F: Fn(&Bee<'_>) + Sync>(_body: F, indices: usize) -> LoopSize {
        LoopSize { body: BodyFn::of::<UserBody<F, true>>().hash(), indices, sharing: Sharing::EqualParts }
    }

    const fn micros(micros: u64) -> u64 {
        micros * 1_000
    }

    #[test]
    fn the_time_of_a_loop_is_expected_to_grow_with_its_indices() {
        let costs = LoopCosts::new();
        let of = |indices| size_of(|_| (), indices);
        assert_eq!(costs.expected(of(10)), None);
        costs.record(of(10), micros(20));
        assert_eq!(costs.expected(of(10)), Some(20_000));
        assert_eq!(costs.expected(of(1_000)), Some(2_000_000));
        assert_eq!(costs.expected(of(0)), Some(0));
    }

    #[test]
    fn a_slow_loop_is_remembered_for_longer_than_a_fast_one() {
        let costs = LoopCosts::new();
        let size = size_of(|bee| assert!(bee.bees() > 0), 1);
        costs.record(size, micros(1));
        costs.record(size, micros(800));
        assert_eq!(costs.expected(size), Some(800_000));
        let expected = [(); 4].map(|()| {
            costs.record(size, micros(1));
            costs.expected(size).unwrap()
        });
        assert_eq!(expected, [400_000, 200_000, 100_000, 50_000]);
    }

    #[test]
    fn a_short_loop_gains_no_more_than_it_has_on_the_team_until_that_is_forgotten() {
        let costs = LoopCosts::new();
        let of = |indices| size_of(|bee| assert!(bee.id() < 9), indices);
        costs.record(of(1_000), micros(3));
        assert_eq!(costs.gain(of(1_000), 2), Some(1_500));
        (0..100).for_each(|_| costs.record_on_team(of(1_000), micros(3), 2));
        // It varies by an eighth.
        assert!(costs.gain(of(1_000), 2).is_some_and(|gain| gain < 550));
        assert_eq!(costs.gain(of(2_000), 2), Some(3_000), "another length");
        (0..10_000).for_each(|_| costs.record(of(1_000), micros(3)));
        assert_eq!(costs.gain(of(1_000), 2), Some(1_500));
        (0..20).for_each(|_| costs.record_on_team(of(1_000), micros(3), 2));
        assert!(costs.gain(of(1_000), 2).is_some_and(|gain| gain < 550), "as soon as at first");
        // A long one asks for help whatever that was worth.
        costs.record(of(100_000), micros(300));
        (0..100).for_each(|_| costs.record_on_team(of(100_000), micros(300), 2));
        assert_eq!(costs.gain(of(100_000), 2), Some(micros(150)));
    }

    #[test]
    fn a_loop_without_indices_says_nothing() {
        let costs = LoopCosts::new();
        let of = |indices| size_of(|_| (), indices);
        costs.record(of(0), micros(3));
        assert_eq!(costs.expected(of(1)), None);
    }

    #[test]
    fn a_guess_does_not_soon_take_the_place_of_what_was_measured() {
        let costs = LoopCosts::new();
        let size = size_of(|_| assert_eq!(1, 1), 1);
        costs.record(size, micros(800));
        costs.record_part(size, Duration::from_micros(1), 2, 0);
        assert_eq!((costs.expected(size), costs.measured(size)), (Some(700_000), None));
        costs.record(size, micros(700));
        costs.record_part(size, Duration::from_micros(500), 2, 0);
        assert_eq!(costs.measured(size), Some(700_000), "that is about right");
        costs.record_part(size, Duration::from_micros(1_000), 2, 0);
        assert_eq!((costs.expected(size), costs.measured(size)), (Some(2_000_000), None));
    }

    #[test]
    fn what_was_measured_at_a_bad_moment_is_forgotten() {
        let costs = LoopCosts::new();
        let size = size_of(|_| assert_eq!(2, 2), 1);
        costs.record(size, micros(150));
        (0..100).for_each(|_| costs.record_part(size, Duration::from_micros(40), 2, 0));
        assert_eq!(costs.measured(size), Some(80_000));
    }

    #[test]
    fn what_the_queen_has_run_before_the_others_came_counts_once_if_they_share_as_they_come() {
        let guess = |part, sharing| guess_of_all(part, 64, sharing, 50);
        assert_eq!(guess(20, Sharing::EqualParts), 64 * 20);
        // All of a short loop is her part.
        assert_eq!(guess(20, Sharing::AsTheyCome), 20);
        assert_eq!(guess(80, Sharing::AsTheyCome), 50 + 64 * 30);
        assert_eq!(guess(u64::MAX, Sharing::EqualParts), u64::MAX);
    }

    #[test]
    fn a_long_loop_pays_at_once_and_short_ones_pay_if_they_follow_each_other_closely() {
        let (costs, mut now) = (LoopCosts::new(), micros(1));
        assert!(costs.pays_to_wake(50_001, 50_000, now));
        // 10 us of gain every 20 us.
        let mut until_it_pays = || {
            let loops = (1..).find(|_| {
                now += micros(20);
                costs.pays_to_wake(10_000, 50_000, now)
            });
            costs.forget_missed_help();
            loops
        };
        assert_eq!((until_it_pays(), until_it_pays()), (Some(7), Some(7)));
        // 10 us of gain every 200 us.
        let rare = (0..1_000).any(|_| {
            now += micros(200);
            costs.pays_to_wake(10_000, 50_000, now)
        });
        assert!(!rare);
    }
}
