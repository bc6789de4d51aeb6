//! How many units a bee claims at once: as many as take a few microseconds, so that claiming costs next to nothing and nobody waits long for what another has
//! claimed.

use std::time::{Duration, Instant};

/// What a batch may take.
const BATCH_TIME: Duration = Duration::from_micros(4);

/// Looks a batch, about.
const CHECKS_PER_BATCH: u32 = 64;

/// A bee claims no more than this part of what it has left.
const CLAIM_DIVISOR: u32 = 4;

/// The pace of one bee in one round of a loop.
pub(crate) struct BatchSize {
    batch_units: u32,
    claims: u32,
    units_run: u32,
    measured_since: Option<Instant>,
}

impl BatchSize {
    pub(crate) const fn new() -> Self {
        Self { batch_units: 1, claims: 0, units_run: 0, measured_since: None }
    }

    /// How many of `left` units to claim.
    pub(crate) fn claim_amount(&self, remaining: u32) -> u32 {
        self.batch_units.min(remaining / CLAIM_DIVISOR)
    }

    /// How many units of a batch to run between two looks whether somebody asks for the rest: one, or as many as take a few nanoseconds.
    pub(crate) fn units_per_check(&self) -> u32 {
        (self.batch_units / CHECKS_PER_BATCH).max(1)
    }

    /// Counts a claim of so many units, those before it having been done. The clock is looked at ever more seldom.
    pub(crate) fn count_claim(&mut self, units: u32) {
        self.claims = self.claims.saturating_add(1);
        if self.claims.is_power_of_two() {
            let now = Instant::now();
            if let Some(since) = self.measured_since {
                self.batch_units = batch_for(now - since, self.units_run);
            }
            (self.measured_since, self.units_run) = (Some(now), 0);
        }
        self.units_run = self.units_run.saturating_add(units);
    }

    /// Somebody else had to wait: from now on one unit at a time.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }
}

/// So many units take as long as a batch may, if `units` took so long.
fn batch_for(elapsed: Duration, units: u32) -> u32 {
    let wanted = u128::from(units) * BATCH_TIME.as_nanos() / elapsed.as_nanos().max(1);
    u32::try_from(wanted).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_four_microseconds() {
        assert_eq!(batch_for(Duration::from_nanos(100), 50), 2000);
        assert_eq!(batch_for(Duration::from_micros(70), 1), 1);
        assert_eq!(batch_for(Duration::ZERO, 3), 12_000);
        assert_eq!(batch_for(Duration::ZERO, u32::MAX), u32::MAX);
    }

    #[test]
    fn it_begins_with_one_unit_and_ends_with_few() {
        let mut batch_size = BatchSize::new();
        assert_eq!(batch_size.claim_amount(1000), 1);
        batch_size.batch_units = 100;
        assert_eq!(
            (batch_size.claim_amount(1000), batch_size.claim_amount(40), batch_size.claim_amount(1)),
            (100, 10, 0)
        );
        assert_eq!(batch_size.units_per_check(), 1);
        batch_size.batch_units = 1000;
        assert_eq!(batch_size.units_per_check(), 15);
        batch_size.reset();
        assert_eq!((batch_size.claim_amount(1000), batch_size.units_per_check()), (1, 1));
    }
}
