//! Replaces `hive/loops/batch_size.rs`, whose batches depend on a clock: here a batch has two units until a bee has had
//! to wait.

/// The batch size of one bee in one round.
pub(super) struct BatchSize {
    batch_units: u32,
}

impl BatchSize {
    pub(super) fn new() -> Self {
        Self { batch_units: 2 }
    }

    /// How many units to claim.
    pub(super) fn claim_amount(&self, _left: u32) -> u32 {
        self.batch_units
    }

    pub(super) fn count_claim(&mut self, _units: u32) {}

    /// How many of the claimed units to run between two checks whether another bee asks for the rest.
    pub(super) fn units_per_check(&self) -> u32 {
        1
    }

    pub(super) fn reset(&mut self) {
        self.batch_units = 1;
    }
}
