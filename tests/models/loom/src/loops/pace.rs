//! A pace without a clock: two units at a time, until somebody has had to wait.

/// As `hive/loops/pace.rs`, of one member in one round.
pub(super) struct Pace {
    batch: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { batch: 2 }
    }

    /// How many units to claim.
    pub(super) fn amount(&self, _left: u32) -> u32 {
        self.batch
    }

    pub(super) fn claimed(&mut self, _units: u32) {}

    /// How many of those to run between two looks whether somebody asks for the rest.
    pub(super) fn at_once(&self) -> u32 {
        1
    }

    pub(super) fn slow_down(&mut self) {
        self.batch = 1;
    }
}
