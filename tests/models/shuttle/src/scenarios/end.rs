//! A scenario of the end of a hive.

use super::random_in;
use crate::checked_region;
use crate::hive::Hive;

const BEES: u32 = 9;

/// Terminates the hive while its workers are being woken, are made surplus, or fall asleep.
pub(super) fn at_any_time() {
    let hive = Hive::new(BEES, random_in(1, BEES));
    for _ in 0..random_in(0, 3) {
        match random_in(0, 2) {
            0 => checked_region::run(&hive, random_in(1, BEES), 0),
            1 => hive.resize(random_in(1, BEES)),
            _ => shuttle::thread::yield_now(),
        }
    }
    hive.end();
}
