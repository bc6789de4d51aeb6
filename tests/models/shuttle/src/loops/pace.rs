//! A pace without a clock: one unit, and then as many as are drawn.

use shuttle::rand::{Rng, thread_rng};

/// The most units claimed at once.
const MOST: u32 = 5;

/// As `hive/loops/pace.rs`, of one member in one round.
pub(super) struct Pace {
    batch: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { batch: 1 }
    }

    /// How many units to claim.
    pub(super) fn amount(&self, _left: u32) -> u32 {
        self.batch
    }

    pub(super) fn claimed(&mut self, _units: u32) {
        self.batch = thread_rng().gen_range(1..=MOST);
    }

    /// How many of those to run between two looks whether somebody asks for the rest.
    pub(super) fn at_once(&self) -> u32 {
        1
    }

    pub(super) fn slow_down(&mut self) {
        *self = Self::new();
    }
}
