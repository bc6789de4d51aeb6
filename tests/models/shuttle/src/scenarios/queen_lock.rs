//! A scenario of several threads that want to be the queen of one hive.

use super::random_in;
use crate::checked_region;
use crate::hive::Hive;

const BEES: u32 = 5;

pub(super) fn contend() {
    let hive = Hive::new(BEES, BEES);
    let queens =
        [(); 2].map(|()| hive.beside(|hive| (0..3).for_each(|_| checked_region::run(hive, random_in(1, BEES), 1))));
    let trier = hive.beside(|hive| (0..4).for_each(|_| drop(hive.team.try_become_queen())));
    (0..3).for_each(|_| checked_region::run(&hive, random_in(1, BEES), 0));
    queens.into_iter().chain([trier]).for_each(|queen| queen.join().expect("no region panics"));
    hive.end();
}
