//! Several queens of one hive.

use super::draw;
use crate::hive::Hive;
use crate::rounds;

const MEMBERS: u32 = 5;

pub(super) fn in_turns() {
    let hive = Hive::new(MEMBERS, MEMBERS);
    let queens = [(); 2].map(|()| hive.beside(|hive| (0..3).for_each(|_| rounds::region(hive, draw(1, MEMBERS), 1))));
    let trier = hive.beside(|hive| (0..4).for_each(|_| drop(hive.crew.try_take_turn())));
    (0..3).for_each(|_| rounds::region(&hive, draw(1, MEMBERS), 0));
    queens.into_iter().chain([trier]).for_each(|queen| queen.join().expect("no region panics"));
    hive.end();
}
