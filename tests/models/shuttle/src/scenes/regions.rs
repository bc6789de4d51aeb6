//! Regions one after another.

use super::draw;
use crate::hive::Hive;
use crate::rounds;

const MEMBERS: u32 = 16;

pub(super) fn of_all_sizes() {
    let hive = Hive::new(MEMBERS, MEMBERS);
    (0..6).for_each(|_| rounds::region(&hive, draw(1, MEMBERS), 0));
    hive.end();
}

pub(super) fn with_barriers() {
    let hive = Hive::new(MEMBERS, MEMBERS);
    (0..3).for_each(|_| rounds::region(&hive, draw(1, MEMBERS), draw(1, 2)));
    hive.end();
}

pub(super) fn growing() {
    let hive = Hive::new(MEMBERS, 1);
    let mut size = 1;
    while size < MEMBERS {
        size = (size + draw(1, 6)).min(MEMBERS);
        rounds::region(&hive, size, draw(0, 1));
        rounds::region(&hive, draw(1, size), 0);
    }
    hive.end();
}
