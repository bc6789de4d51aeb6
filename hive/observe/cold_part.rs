//! How long the queen's own part took in a region that began cold, that is, while a worker slept. From
//! that `pool/lone_loops.rs` learns how much work a loop is. Other regions are not timed: reading the clock would take
//! a good part of their time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sys::cost_of_waking::COST_OF_WAKING;

/// The time of the last such part, in nanoseconds; 0: none since `clear`.
pub(crate) struct ColdPart(AtomicU64);

impl ColdPart {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Forgets the last part.
    pub(crate) fn clear(&self) {
        // Relaxed, here and below: the caller of a loop asks for what it has written itself. If another thread has been
        // queen in between, the number is that one's, and a guess is less good.
        self.0.store(0, Ordering::Relaxed);
    }

    /// How long the last part took. None: no region has begun cold since `clear`.
    pub(crate) fn get(&self) -> Option<Duration> {
        let nanos = self.0.load(Ordering::Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    /// Records the time of a part. Returns whether that is longer than it takes to wake a worker.
    #[cold]
    fn record(&self, part: Duration) -> bool {
        self.0.store(part.as_nanos().clamp(1, u64::MAX.into()) as u64, Ordering::Relaxed);
        part > COST_OF_WAKING
    }

    /// Begins to time the queen's part of a region, if the region `is_cold`.
    #[inline(always)]
    pub(crate) fn begin_if(&self, is_cold: bool) -> ColdPartTimer<'_> {
        ColdPartTimer { cold_part: self, begin: is_cold.then(Instant::now) }
    }
}

/// Times a part. None: the region is not cold.
pub(crate) struct ColdPartTimer<'p> {
    cold_part: &'p ColdPart,
    begin: Option<Instant>,
}

impl ColdPartTimer<'_> {
    /// The part has ended. Returns whether it was timed and took longer than it takes to wake a worker.
    #[inline(always)]
    pub(crate) fn end_is_late(self) -> bool {
        self.begin.is_some_and(|begin| self.cold_part.record(begin.elapsed()))
    }
}
