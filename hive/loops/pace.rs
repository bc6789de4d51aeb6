//! How many units a member claims at once: as many as take a few microseconds, so that claiming costs next to nothing and nobody waits long for what another has
//! claimed.

use std::time::{Duration, Instant};

/// What a batch may take.
const BATCH: Duration = Duration::from_micros(4);

/// Looks a batch, about.
const LOOKS: u32 = 64;

/// A member claims no more than this part of what it has left.
const PART: u32 = 4;

/// The pace of one member in one round of a loop.
pub(super) struct Pace {
    batch: u32,
    claims: u32,
    units: u32,
    begin: Option<Instant>,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { batch: 1, claims: 0, units: 0, begin: None }
    }

    /// How many of `left` units to claim.
    pub(super) fn amount(&self, left: u32) -> u32 {
        self.batch.min(left / PART)
    }

    /// How many units of a batch to run between two looks whether somebody asks for the rest: one, or as many as take a few nanoseconds.
    pub(super) fn at_once(&self) -> u32 {
        (self.batch / LOOKS).max(1)
    }

    /// Counts a claim of so many units, those before it having been done. The clock is looked at ever more seldom.
    pub(super) fn claimed(&mut self, units: u32) {
        self.claims = self.claims.saturating_add(1);
        if self.claims.is_power_of_two() {
            let now = Instant::now();
            if let Some(begin) = self.begin {
                self.batch = batch(now - begin, self.units);
            }
            (self.begin, self.units) = (Some(now), 0);
        }
        self.units = self.units.saturating_add(units);
    }

    /// Somebody else had to wait: from now on one unit at a time.
    pub(super) fn slow_down(&mut self) {
        *self = Self::new();
    }
}

/// So many units take as long as a batch may, if `units` took so long.
fn batch(took: Duration, units: u32) -> u32 {
    let wanted = u128::from(units) * BATCH.as_nanos() / took.as_nanos().max(1);
    u32::try_from(wanted).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_four_microseconds() {
        assert_eq!(batch(Duration::from_nanos(100), 50), 2000);
        assert_eq!(batch(Duration::from_micros(70), 1), 1);
        assert_eq!(batch(Duration::ZERO, 3), 12_000);
        assert_eq!(batch(Duration::ZERO, u32::MAX), u32::MAX);
    }

    #[test]
    fn it_begins_with_one_unit_and_ends_with_few() {
        let mut pace = Pace::new();
        assert_eq!(pace.amount(1000), 1);
        pace.batch = 100;
        assert_eq!((pace.amount(1000), pace.amount(40), pace.amount(1)), (100, 10, 0));
        assert_eq!(pace.at_once(), 1);
        pace.batch = 1000;
        assert_eq!(pace.at_once(), 15);
        pace.slow_down();
        assert_eq!((pace.amount(1000), pace.at_once()), (1, 1));
    }
}
