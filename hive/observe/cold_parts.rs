//! How long the parts of regions take that begin cold, that is, while a worker sleeps, and those of some loops. Other
//! regions are not timed: reading the clock would take a good part of their time.
//!
//! From the last part `pool/lone_loops.rs` learns how much work a loop is. From the parts of all other regions the
//! queen knows which of them are short: their workers may run unbound (`docs/unbound-sleep.md`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::observe::body_times::BodyTimes;
use crate::sys::part_time::{COST_OF_WAKING, PartTime};

/// What is left of a longer time at each record: a part of 1 ms is remembered for a hundred records, which is about as
/// long as it takes to gain as much by short parts.
const FORGET: f32 = 0.97;

/// What is known of the cold regions of one team.
pub(crate) struct ColdParts {
    /// How long the last part of the queen took, in nanoseconds; 0: none since `clear`.
    last: AtomicU64,
    /// How long a bee's part takes at most, for regions that are no loops.
    times: BodyTimes,
}

impl ColdParts {
    pub(crate) fn new() -> Self {
        Self { last: AtomicU64::new(0), times: BodyTimes::new() }
    }

    /// Forgets the last part.
    #[inline]
    pub(crate) fn clear_last(&self) {
        // Relaxed, here and below: the caller of a loop asks for what it has written itself. If another thread has been
        // queen in between, the number is that one's, and a guess is less good.
        self.last.store(0, Ordering::Relaxed);
    }

    /// How long the queen's last part took. None: none was timed since `clear_last`.
    pub(crate) fn last(&self) -> Option<Duration> {
        let nanos = self.last.load(Ordering::Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    /// Begins to time the queen's part of a region, if the region `is_cold`. Returns when that was.
    #[inline(always)]
    pub(crate) fn begin_if(&self, is_cold: bool) -> Option<Instant> {
        is_cold.then(Instant::now)
    }

    /// Says that the part has ended that began at `begin`, which `begin_if` has returned. Returns how long it took, if
    /// it was timed.
    #[inline(always)]
    pub(crate) fn end(&self, begin: Option<Instant>) -> Option<PartTime> {
        begin.map(|begin| self.record_last(begin))
    }

    /// Notes how long the queen's part has taken that began at `begin` and has just ended, and returns it.
    #[cold]
    fn record_last(&self, begin: Instant) -> PartTime {
        let part = PartTime::since(begin);
        self.last.store(part.0.as_nanos().clamp(1, u64::MAX.into()) as u64, Ordering::Relaxed);
        part
    }

    /// Records how long a bee's part of a region has taken that is no loop and whose body has this hash.
    #[cold]
    pub(crate) fn record(&self, body: u64, work: PartTime) {
        self.times.record(body, work.0.as_nanos() as f32, FORGET);
    }

    /// Whether the parts of a region whose body has this hash are known to take no longer than it takes to wake a
    /// worker.
    pub(crate) fn are_short(&self, body: u64) -> bool {
        self.times.nanos(body).is_some_and(|nanos| nanos <= COST_OF_WAKING.as_nanos() as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_short_if_its_longest_parts_were() {
        let (parts, body) = (ColdParts::new(), 77);
        let is_short_after = |part| {
            parts.record(body, PartTime(part));
            parts.are_short(body)
        };
        assert!(is_short_after(COST_OF_WAKING / 2));
        assert!(!is_short_after(COST_OF_WAKING * 3));
        let until_short = (1..).find(|_| is_short_after(COST_OF_WAKING / 2));
        assert_eq!(until_short, Some(37), "the long part counts for longer");
        assert!(!parts.are_short(78), "nothing is known of it");
    }
}
