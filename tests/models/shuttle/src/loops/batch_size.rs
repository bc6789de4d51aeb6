//! Replaces `hive/loops/batch_size.rs`, whose batches depend on a clock: here the first batch has one unit, and the
//! size of the others is random.

use shuttle::rand::{Rng, thread_rng};

/// The most units claimed at once.
const MAX_BATCH: u32 = 5;

/// The batch size of one bee in one round.
pub(super) struct BatchSize {
    batch_units: u32,
}

impl BatchSize {
    pub(super) fn new() -> Self {
        Self { batch_units: 1 }
    }

    /// How many units to claim.
    pub(super) fn claim_amount(&self, _left: u32) -> u32 {
        self.batch_units
    }

    pub(super) fn count_claim(&mut self, _units: u32) {
        self.batch_units = thread_rng().gen_range(1..=MAX_BATCH);
    }

    /// How many of the claimed units to run between two checks whether another bee asks for the rest.
    pub(super) fn units_per_check(&self) -> u32 {
        1
    }

    pub(super) fn reset(&mut self) {
        *self = Self::new();
    }
}
