//! Resizes from two threads while regions run.

use super::draw;
use crate::hive::Hive;
use crate::rounds;

const MEMBERS: u32 = 9;

pub(super) fn of_resizes() {
    let hive = Hive::new(MEMBERS, draw(1, MEMBERS));
    let resizers = [(); 2].map(|()| {
        hive.beside(|hive| {
            for _ in 0..4 {
                hive.resize(draw(1, MEMBERS));
                if draw(0, 2) == 0 {
                    hive.crew.settle();
                }
            }
        })
    });
    (0..4).for_each(|_| rounds::region(&hive, draw(1, MEMBERS), draw(0, 1)));
    resizers.into_iter().for_each(|resizer| resizer.join().expect("resizing does not panic"));
    let size = draw(1, MEMBERS);
    hive.resize(size);
    hive.crew.settle();
    assert_eq!((hive.crew.bees(), hive.crew.untucked()), (size, 0), "members, and surplus bees on a core");
    rounds::region(&hive, MEMBERS, 1);
    hive.end();
}
