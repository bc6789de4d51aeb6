//! Scenarios of regions one after another.

use super::random_in;
use crate::checked_region;
use crate::hive::Hive;

const BEES: u32 = 16;

pub(super) fn of_all_sizes() {
    let hive = Hive::new(BEES, BEES);
    (0..6).for_each(|_| checked_region::run(&hive, random_in(1, BEES), 0));
    hive.end();
}

pub(super) fn with_barriers() {
    let hive = Hive::new(BEES, BEES);
    (0..3).for_each(|_| checked_region::run(&hive, random_in(1, BEES), random_in(1, 2)));
    hive.end();
}

pub(super) fn growing() {
    let hive = Hive::new(BEES, 1);
    let mut size = 1;
    while size < BEES {
        size = (size + random_in(1, 6)).min(BEES);
        checked_region::run(&hive, size, random_in(0, 1));
        checked_region::run(&hive, random_in(1, size), 0);
    }
    hive.end();
}
