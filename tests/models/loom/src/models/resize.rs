//! Resizes against regions and against one another.

use super::Model;
use crate::crew::Sleep;
use crate::errand::Errand;
use crate::hive::{HOT, Helper, Hive, PATIENT, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::up_to(3, "shrink", "a bee is made surplus while a region starts", || against_region(SLEEPY, 2, &[1])),
    Model::up_to(4, "shrink_hot", "the same, and the bee does not sleep", || against_region(HOT, 2, &[1])),
    Model::up_to(2, "shrink_grow", "a bee is made surplus and brought back while a region starts", || {
        against_region(SLEEPY, 2, &[1, 2])
    }),
    Model::up_to(3, "shrink_grow_hot", "the same, and the bee does not sleep", || against_region(HOT, 2, &[1, 2])),
    Model::up_to(1, "shrink_two", "two bees are made surplus while a region starts", || against_region(SLEEPY, 3, &[1])),
    Model::up_to(1, "shrink_beside", "two sleepers are parked while a region starts that needs one of them", shrink_beside),
    Model::up_to(3, "grow", "a parked bee is called by a region and brought back by a resize", || grow(SLEEPY)),
    Model::up_to(2, "grow_patient", "the same, with a second poll before sleeping", || grow(PATIENT)),
    Model::up_to(3, "region_grows", "a region of more members than there are", region_grows),
    Model::up_to(3, "region_after_resize", "a region as large as another thread has made the hive", region_after_resize),
    Model::up_to(4, "region_after_hire", "a region as large as another thread has made the hive by hiring", region_after_hire),
    Model::up_to(2, "mail_after_hire", "mail for a bee that another thread has hired", mail_after_hire),
    Model::up_to(4, "hire", "a bee is hired and has a part in a region at once", hire),
];

/// A region of all `bees` while another thread resizes to `sizes` in turn; and one more afterwards.
fn against_region(policy: WaitPolicy, bees: u32, sizes: &'static [u32]) {
    let hive = Hive::staffed(bees, bees, policy);
    let resizer = Helper::spawn(&hive, |hive| sizes.iter().for_each(|&size| hive.resize(size)));
    let mut rounds = Rounds::new(bees);
    rounds.region(&hive, bees);
    resizer.join();
    assert!(hive.crew.bees() <= bees);
    stage::end();
    rounds.region(&hive, bees);
    hive.end();
}

/// The region is for one of two bees, which have had time to fall asleep. The other one keeps the count of sleepers
/// from being none.
fn shrink_beside() {
    let hive = Hive::staffed(3, 3, SLEEPY);
    (0..2).for_each(|_| loom::thread::yield_now());
    let resizer = Helper::spawn(&hive, |hive| hive.resize(1));
    Rounds::new(3).region(&hive, 2);
    resizer.join();
    hive.end();
}

/// The bee is parked; the queen, who has seen a larger hive, calls it.
fn grow(policy: WaitPolicy) {
    let hive = Hive::staffed(2, 2, policy);
    hive.resize(1);
    let resizer = Helper::spawn(&hive, |hive| hive.resize(2));
    let mut rounds = Rounds::new(2);
    rounds.region(&hive, 2);
    resizer.join();
    assert_eq!(hive.crew.bees(), 2);
    stage::end();
    rounds.region(&hive, 2);
    hive.end();
}

fn region_grows() {
    let hive = Hive::staffed(2, 1, SLEEPY);
    let mut rounds = Rounds::new(2);
    rounds.region(&hive, 2);
    rounds.region(&hive, 1);
    hive.resize(1);
    rounds.region(&hive, 2);
    assert_eq!(hive.crew.bees(), 2);
    hive.end();
}

fn region_after_resize() {
    let hive = Hive::staffed(2, 1, SLEEPY);
    let resizer = Helper::spawn(&hive, |hive| hive.resize(2));
    let mut rounds = Rounds::new(2);
    let team = hive.crew.bees();
    rounds.region(&hive, team);
    resizer.join();
    hive.end();
}

/// The queen finds the new bee by the hive's size alone, and must see what was made when it was hired.
fn region_after_hire() {
    let hive = Hive::new(2, SLEEPY);
    stage::play();
    let hirer = Helper::spawn(&hive, |hive| hive.resize(2));
    let team = hive.crew.bees();
    Rounds::new(2).region(&hive, team);
    hirer.join();
    hive.end();
}

/// Who reads how many bees there are finds their slots.
fn mail_after_hire() {
    let hive = Hive::alone_with_tasks(2, Sleep::jec());
    stage::play();
    let hirer = Helper::spawn(&hive, |hive| hive.resize(2));
    if hive.crew.bees() == 2 {
        let (errand, task) = Errand::new();
        hive.crew.send(1, task);
        errand.wait();
    }
    hirer.join();
    hive.end();
}

fn hire() {
    let hive = Hive::new(2, SLEEPY);
    stage::play();
    let mut rounds = Rounds::new(2);
    rounds.region(&hive, 1);
    rounds.region(&hive, 2);
    hive.end();
}
