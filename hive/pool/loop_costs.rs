//! What a hive knows of the costs of its loops, and what it makes of that: whether it pays to wake the workers for a
//! loop, or to wait for the team, or whether the caller is better off alone. `lone_loops.rs` asks before each loop that
//! finds the workers asleep or the team busy, and says afterwards how long the loop has taken. The rules, with their
//! reasons, are in `docs/lone-loops.md`.
//!
//! All of this is guesswork about speed: whatever it says, a loop gives the same result. So several threads may use it
//! at the same time without a lock, and an update may get lost.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::protocol::region::body::BodyKey;
use crate::sys::cost_of_waking::COST_OF_WAKING;

/// The help that loops have missed is forgotten as time passes: in eight nanoseconds, one nanosecond of it. A worker
/// that stays awake for loops polls all the time between them, so it has to save at least this part of the time.
const TIME_PER_GAIN: u64 = 8;

/// For how many loop bodies there is room. If two get the same place, each of them is unknown after the other.
const BODIES: usize = 64;

/// The costs of the loops of one hive.
pub(crate) struct LoopCosts {
    /// The time that the other words count from.
    origin: Instant,
    /// One for each place: see `KnownBody`.
    bodies: CachePadded<[AtomicU64; BODIES]>,
    /// How much sooner loops that ran on their callers alone would have ended with the help of the workers, in
    /// nanoseconds, less what has been forgotten.
    missed_help: AtomicU64,
    /// When `pays_to_wake` was last asked, in nanoseconds since `origin`.
    asked_at: AtomicU64,
}

/// What is known of one loop body, as it is packed into a word: in the upper half a part of its key, in the lower half
/// the nanoseconds that one thread takes for one index, an `f32`.
#[derive(Clone, Copy)]
struct KnownBody {
    tag: u32,
    nanos_per_index: f32,
}

impl KnownBody {
    fn from_word(word: u64) -> Self {
        Self { tag: (word >> 32) as u32, nanos_per_index: f32::from_bits(word as u32) }
    }

    fn into_word(self) -> u64 {
        u64::from(self.tag) << 32 | u64::from(self.nanos_per_index.to_bits())
    }
}

/// The loop that is about to run: its body, which tells it from others, and the number of its indices.
#[derive(Clone, Copy)]
pub(crate) struct LoopSize {
    pub(crate) body: BodyKey,
    pub(crate) indices: usize,
}

impl LoopSize {
    /// The place of the body in the table, and its tag there.
    fn place_and_tag(self) -> (usize, u32) {
        let hash = self.body.hash();
        // 0 is the tag of a place where no body is.
        (hash as usize % BODIES, (hash >> 32) as u32 | 1)
    }
}

impl LoopCosts {
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
            bodies: CachePadded::new(array::from_fn(|_| AtomicU64::new(0))),
            missed_help: AtomicU64::new(0),
            asked_at: AtomicU64::new(0),
        }
    }

    /// How long one thread would take for the loop, to judge by earlier loops with this body. None: nothing is known.
    pub(crate) fn expected(&self, size: LoopSize) -> Option<Duration> {
        let (place, tag) = size.place_and_tag();
        // Relaxed: a hint, in one word.
        let known = KnownBody::from_word(self.bodies[place].load(Ordering::Relaxed));
        (known.tag == tag)
            .then(|| Duration::from_nanos((f64::from(known.nanos_per_index) * size.indices as f64) as u64))
    }

    /// Records that one thread took so long for the loop.
    pub(crate) fn record(&self, size: LoopSize, took: Duration) {
        self.record_and_forget(size, took, 0.5);
    }

    /// Records that one thread would have taken so long for the loop, to judge by the queen's part of it. Her part may
    /// be shorter than the others, so a longer time that is known is forgotten more slowly.
    pub(crate) fn record_guess(&self, size: LoopSize, took: Duration) {
        self.record_and_forget(size, took, 0.875);
    }

    /// Records the time, unless the time that is known, multiplied by `forget`, is longer. So if the cost of a body
    /// varies, the longer times count for longer: to run a long loop alone costs more than to wake the workers for a
    /// short one.
    fn record_and_forget(&self, size: LoopSize, took: Duration, forget: f32) {
        // What a loop costs that has no indices says nothing of those that have.
        if size.indices == 0 {
            return;
        }
        let (place, tag) = size.place_and_tag();
        let mut nanos_per_index = took.as_nanos() as f32 / size.indices as f32;
        // Relaxed, both: a hint, in one word. If another thread writes at the same time, either may win.
        let known = KnownBody::from_word(self.bodies[place].load(Ordering::Relaxed));
        if known.tag == tag {
            nanos_per_index = nanos_per_index.max(known.nanos_per_index * forget);
        }
        self.bodies[place].store(KnownBody { tag, nanos_per_index }.into_word(), Ordering::Relaxed);
    }

    /// Whether it pays to wake the workers for a loop that begins at `now` and would end sooner by `gain` if they were
    /// awake. That is so if the gain is greater than the cost, counting the gain that loops before this one have missed
    /// in quick succession. If it does not pay, the gain of this loop is counted as missed.
    pub(crate) fn pays_to_wake(&self, gain: Duration, now: Instant) -> bool {
        let (now, gain) = (nanos(now.saturating_duration_since(self.origin)), nanos(gain));
        // Relaxed, all: hints. If two threads do this at the same time, the gain of one of them is not counted.
        let passed = now.saturating_sub(self.asked_at.swap(now, Ordering::Relaxed));
        let missed = self.missed_help.load(Ordering::Relaxed).saturating_sub(passed / TIME_PER_GAIN) + gain;
        let pays = missed > nanos(COST_OF_WAKING);
        self.missed_help.store(if pays { 0 } else { missed }, Ordering::Relaxed);
        pays
    }
}

/// The duration in nanoseconds. One that is longer than can be counted so, hundreds of years, is as good as that long.
fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().min(u64::MAX.into()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::region::body::BodyFn;
    use crate::region::bee::{Bee, UserBody};

    fn size_of<F: Fn(&Bee<'_>) + Sync>(_body: F, indices: usize) -> LoopSize {
        LoopSize { body: BodyFn::of::<UserBody<F, true>>().key(), indices }
    }

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn the_time_of_a_loop_is_expected_to_grow_with_its_indices() {
        let costs = LoopCosts::new();
        let of = |indices| size_of(|_| (), indices);
        assert_eq!(costs.expected(of(10)), None);
        costs.record(of(10), micros(20));
        assert_eq!(costs.expected(of(10)), Some(micros(20)));
        assert_eq!(costs.expected(of(1_000)), Some(micros(2_000)));
        assert_eq!(costs.expected(of(0)), Some(micros(0)));
    }

    #[test]
    fn a_slow_loop_is_remembered_for_longer_than_a_fast_one() {
        let costs = LoopCosts::new();
        let size = size_of(|bee| assert!(bee.bees() > 0), 1);
        costs.record(size, micros(1));
        costs.record(size, micros(800));
        assert_eq!(costs.expected(size), Some(micros(800)));
        let expected = [(); 4].map(|()| {
            costs.record(size, micros(1));
            costs.expected(size).unwrap()
        });
        assert_eq!(expected, [400, 200, 100, 50].map(micros));
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
        costs.record_guess(size, micros(1));
        assert_eq!(costs.expected(size), Some(micros(700)));
        costs.record_guess(size, micros(1_000));
        assert_eq!(costs.expected(size), Some(micros(1_000)));
    }

    #[test]
    fn a_long_loop_pays_at_once_and_short_ones_pay_if_they_follow_each_other_closely() {
        let (costs, mut now) = (LoopCosts::new(), Instant::now());
        assert!(costs.pays_to_wake(COST_OF_WAKING + micros(1), now));
        // 10 us of gain every 20 us.
        let mut until_it_pays = || {
            (1..).find(|_| {
                now += micros(20);
                costs.pays_to_wake(micros(10), now)
            })
        };
        assert_eq!((until_it_pays(), until_it_pays()), (Some(7), Some(7)));
        // 10 us of gain every 200 us.
        let rare = (0..1_000).any(|_| {
            now += micros(200);
            costs.pays_to_wake(micros(10), now)
        });
        assert!(!rare);
    }
}
