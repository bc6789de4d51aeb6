//! The batch size of a `Dynamic` loop: how many units a bee claims at once from the front of its work range.
//!
//! `StealingLoop::run_dynamic` makes one `BatchSize` for each bee and round. A batch holds as many units as take about
//! four microseconds: enough that the claim itself costs next to nothing, and few enough that a bee without work does
//! not wait long for units that another has claimed and not yet run. The protocol of the loop is described in
//! `docs/loops.md`.

use std::time::{Duration, Instant};

/// The time that a batch should take.
const BATCH_TIME: Duration = Duration::from_micros(4);

/// About how often a bee checks, while it runs a batch, whether another bee has requested the rest of it.
const CHECKS_PER_BATCH: u32 = 64;

/// A bee claims at most one `CLAIM_DIVISOR`th of what is left in its work range, so that the others find something to
/// steal.
const CLAIM_DIVISOR: u32 = 4;

/// The batch size of one bee in one round of a loop. It starts with one unit and follows the measured time per unit.
pub(crate) struct BatchSize {
    /// How many units take `BATCH_TIME`, by the last measurement. 1 until there is one.
    batch_units: u32,
    /// How many claims there have been. The clock is read at claims number 1, 2, 4, 8, ...
    claims: u32,
    /// The units claimed since the clock was last read.
    units_run: u32,
    /// When the clock was last read. None: not yet.
    measured_since: Option<Instant>,
}

impl BatchSize {
    pub(crate) const fn new() -> Self {
        Self { batch_units: 1, claims: 0, units_run: 0, measured_since: None }
    }

    /// How many units to claim of the `remaining` ones in the bee's work range. `WorkRange::claim` turns a 0 into 1.
    pub(crate) fn claim_amount(&self, remaining: u32) -> u32 {
        self.batch_units.min(remaining / CLAIM_DIVISOR)
    }

    /// How many units of a batch to run between two checks whether another bee has requested the rest: 1, or as many as
    /// take about 60 ns (`BATCH_TIME` divided by `CHECKS_PER_BATCH`).
    pub(crate) fn units_per_check(&self) -> u32 {
        (self.batch_units / CHECKS_PER_BATCH).max(1)
    }

    /// Records a new claim of `units` units. All units of earlier claims have been run. Measures the time per unit
    /// whenever the number of claims is a power of two: reading the clock costs more than a claim, so it is read less
    /// and less often.
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

    /// Starts again with batches of one unit. Called when another bee had to request the rest of a batch: the work is
    /// running out, and it is better spread in small pieces.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }
}

/// How many units take `BATCH_TIME`, at least 1, if `units` units took `elapsed`.
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
