//! A scenario of resizes from two threads while regions run.

use super::random_in;
use crate::checked_region;
use crate::hive::Hive;

const BEES: u32 = 9;

pub(super) fn random_resizes() {
    let hive = Hive::new(BEES, random_in(1, BEES));
    let resizers = [(); 2].map(|()| {
        hive.beside(|hive| {
            for _ in 0..4 {
                hive.resize(random_in(1, BEES));
                if random_in(0, 2) == 0 {
                    hive.team.wait_until_parked();
                }
            }
        })
    });
    (0..4).for_each(|_| checked_region::run(&hive, random_in(1, BEES), random_in(0, 1)));
    resizers.into_iter().for_each(|resizer| resizer.join().expect("resizing does not panic"));
    let size = random_in(1, BEES);
    hive.resize(size);
    hive.team.wait_until_parked();
    assert_eq!((hive.team.bees(), hive.team.pending_parks()), (size, 0), "bees, and surplus bees on a core");
    checked_region::run(&hive, BEES, 1);
    hive.end();
}
