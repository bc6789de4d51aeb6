//! A small table of how long bodies take, by which a hive tells short ones from long ones: the bodies of loops, for
//! each index (`pool/loop_costs.rs`), and the parts of regions (`cold_parts.rs`).
//!
//! All of this is guesswork about speed: whatever the table says, a body gives the same result. So several threads may
//! use it at the same time without a lock, and an update may get lost.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// For how many bodies there is room. If two get the same place, each of them is unknown after the other.
const BODIES: usize = 64;

/// What takes how long. A body is given by a hash of whatever tells it from others, whose upper and lower half each
/// depend on all of that.
pub(crate) struct BodyTimes(
    /// What is known of the body at each place: in the upper half of the word a part of its hash, in the lower half the
    /// nanoseconds that it takes, an `f32`, which is negative if that is a guess.
    CachePadded<[AtomicU64; BODIES]>,
);

/// The place of a body in the table, and its tag there.
#[inline]
fn place_and_tag(hash: u64) -> (usize, u32) {
    // 0 is the tag of a place where no body is.
    (hash as usize % BODIES, (hash >> 32) as u32 | 1)
}

impl BodyTimes {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(array::from_fn(|_| AtomicU64::new(0))))
    }

    /// How many nanoseconds the body takes, to judge by earlier times. None: nothing is known of it.
    #[inline]
    pub(crate) fn nanos(&self, hash: u64) -> Option<f32> {
        self.recorded(hash).map(f32::abs)
    }

    /// Whether the time of the body is known, and no guess.
    pub(crate) fn is_measured(&self, hash: u64) -> bool {
        self.recorded(hash).is_some_and(f32::is_sign_positive)
    }

    /// What was recorded last.
    #[inline(always)]
    fn recorded(&self, hash: u64) -> Option<f32> {
        let (place, tag) = place_and_tag(hash);
        // Relaxed, here and below: a hint, in one word.
        let word = self.0[place].load(Ordering::Relaxed);
        ((word >> 32) as u32 == tag).then_some(f32::from_bits(word as u32))
    }

    /// Records that the body has taken so long, unless the time that is known, multiplied by `keep`, is longer. So if
    /// the time of a body varies, the longer times count for longer. A negative time is a guess.
    #[inline]
    pub(crate) fn record(&self, hash: u64, nanos: f32, keep: f32) {
        let kept = self.recorded(hash).unwrap_or(0.0) * keep;
        self.store(hash, kept.abs().max(nanos.abs()).copysign(nanos));
    }

    /// Records that the body has taken so long: moves the known time, or the `assumed` one if that is longer, by an
    /// eighth towards that. So it comes to about the median.
    pub(crate) fn record_middle(&self, hash: u64, nanos: f32, assumed: f32) {
        let known = self.recorded(hash).map_or(assumed, |known| known.max(assumed));
        self.store(hash, if nanos > known { known * 1.125 } else { nanos.max(known * 0.875) });
    }

    /// Shortens the known time of the body by one part in 128.
    pub(crate) fn forget_some(&self, hash: u64) {
        if let Some(known) = self.recorded(hash) {
            self.store(hash, known * (1.0 - 1.0 / 128.0));
        }
    }

    fn store(&self, hash: u64, nanos: f32) {
        let (place, tag) = place_and_tag(hash);
        // If another thread writes at the same time, either may win.
        self.0[place].store(u64::from(tag) << 32 | u64::from(nanos.to_bits()), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_times_count_for_longer() {
        let (times, hash) = (BodyTimes::new(), 0x1234_5678_9abc_def0);
        assert_eq!(times.nanos(hash), None);
        for (nanos, known) in [(8.0, 8.0), (1.0, 4.0), (1.0, 2.0), (3.0, 3.0)] {
            times.record(hash, nanos, 0.5);
            assert_eq!(times.nanos(hash), Some(known));
        }
    }

    #[test]
    fn a_middle_is_in_the_middle_of_what_varies_and_is_forgotten_slowly() {
        let (times, hash) = (BodyTimes::new(), 5);
        times.record_middle(hash, 1e6, 80.0);
        assert_eq!(times.nanos(hash), Some(90.0));
        (0..300).for_each(|round| times.record_middle(hash, if round % 3 == 0 { 1e6 } else { 10.0 }, 0.0));
        assert!(times.nanos(hash).is_some_and(|nanos| (10.0..15.0).contains(&nanos)), "{:?}", times.nanos(hash));
        (0..300).for_each(|round| times.record_middle(hash, if round % 3 == 0 { 10.0 } else { 100.0 }, 0.0));
        assert!(times.nanos(hash).is_some_and(|nanos| (80.0..120.0).contains(&nanos)), "{:?}", times.nanos(hash));
        let known = times.nanos(hash).unwrap();
        (0..128).for_each(|_| times.forget_some(hash));
        assert!(times.nanos(hash).is_some_and(|nanos| (known / 3.0..known / 2.0).contains(&nanos)));
    }

    #[test]
    fn a_body_that_takes_the_place_of_another_makes_it_unknown() {
        let (times, first, second) = (BodyTimes::new(), 5, 5 | 1 << 40);
        times.record(first, 1.0, 0.5);
        times.record(second, 2.0, 0.5);
        assert_eq!((times.nanos(first), times.nanos(second)), (None, Some(2.0)));
    }
}
