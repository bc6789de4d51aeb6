//! The end of a hive.

use super::draw;
use crate::hive::Hive;
use crate::rounds;

const MEMBERS: u32 = 9;

/// The bees are being woken, made surplus, or fall asleep.
pub(super) fn at_any_time() {
    let hive = Hive::new(MEMBERS, draw(1, MEMBERS));
    for _ in 0..draw(0, 3) {
        match draw(0, 2) {
            0 => rounds::region(&hive, draw(1, MEMBERS), 0),
            1 => hive.resize(draw(1, MEMBERS)),
            _ => shuttle::thread::yield_now(),
        }
    }
    hive.end();
}
