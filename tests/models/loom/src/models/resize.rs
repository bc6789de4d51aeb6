//! Models of resizes that run beside regions and beside other resizes.
//!
//! The protocol is described in `docs/resize.md`.

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::CheckedTask;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK, SPIN, SPIN_THEN_PARK};
use crate::protocol::tasks::sleep::Sleep;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::bounded(3, "shrink", "a worker is made surplus while a region starts", || against_region(PARK, 2, &[1])),
    Model::bounded(4, "shrink_spin", "the same, and the worker does not sleep", || against_region(SPIN, 2, &[1])),
    Model::bounded(2, "shrink_grow", "a worker is made surplus and brought back while a region starts", || {
        against_region(PARK, 2, &[1, 2])
    }),
    Model::bounded(3, "shrink_grow_spin", "the same, and the worker does not sleep", || {
        against_region(SPIN, 2, &[1, 2])
    }),
    Model::bounded(1, "shrink_two", "two workers are made surplus while a region starts", || {
        against_region(PARK, 3, &[1])
    }),
    Model::bounded(
        1,
        "shrink_bees_not_needed",
        "two sleepers are parked while a region starts that needs one of them",
        shrink_beside,
    ),
    Model::bounded(3, "grow", "a parked worker is woken by a region and brought back by a resize", || grow(PARK)),
    Model::bounded(2, "grow_spin_then_park", "the same, with a second poll before sleeping", || grow(SPIN_THEN_PARK)),
    Model::bounded(3, "region_grows", "a region of more bees than there are", region_grows),
    Model::bounded(
        3,
        "region_after_resize",
        "a region as large as another thread has made the hive",
        region_after_resize,
    ),
    Model::bounded(
        4,
        "region_after_worker_start",
        "a region as large as another thread has made the hive by hiring",
        region_after_hire,
    ),
    Model::bounded(
        2,
        "mailbox_after_worker_start",
        "a mailbox task for a worker that another thread has hired",
        mail_after_hire,
    ),
    Model::bounded(4, "worker_in_region_at_once", "a worker is hired and has a part in a region at once", hire),
];

/// Runs a region of all `bees` while another thread resizes to each of `sizes`, and another region afterwards.
fn against_region(policy: WaitPolicy, bees: u32, sizes: &'static [u32]) {
    let hive = Hive::with_workers(bees, bees, policy);
    let resizer = OtherThread::spawn(&hive, |hive| sizes.iter().for_each(|&size| hive.resize(size)));
    let mut rounds = CheckedRegion::new(bees);
    rounds.run(&hive, bees);
    resizer.join();
    assert!(hive.team.bees() <= bees);
    exploration::stop_exploring();
    rounds.run(&hive, bees);
    hive.end();
}

/// The region needs one of two workers, which have had time to fall asleep. The other worker keeps the count of
/// sleepers above zero.
fn shrink_beside() {
    let hive = Hive::with_workers(3, 3, PARK);
    (0..2).for_each(|_| loom::thread::yield_now());
    let resizer = OtherThread::spawn(&hive, |hive| hive.resize(1));
    CheckedRegion::new(3).run(&hive, 2);
    resizer.join();
    hive.end();
}

/// The worker is parked. The queen, who has seen the larger size, wakes it.
fn grow(policy: WaitPolicy) {
    let hive = Hive::with_workers(2, 2, policy);
    hive.resize(1);
    let resizer = OtherThread::spawn(&hive, |hive| hive.resize(2));
    let mut rounds = CheckedRegion::new(2);
    rounds.run(&hive, 2);
    resizer.join();
    assert_eq!(hive.team.bees(), 2);
    exploration::stop_exploring();
    rounds.run(&hive, 2);
    hive.end();
}

fn region_grows() {
    let hive = Hive::with_workers(2, 1, PARK);
    let mut rounds = CheckedRegion::new(2);
    rounds.run(&hive, 2);
    rounds.run(&hive, 1);
    hive.resize(1);
    rounds.run(&hive, 2);
    assert_eq!(hive.team.bees(), 2);
    hive.end();
}

fn region_after_resize() {
    let hive = Hive::with_workers(2, 1, PARK);
    let resizer = OtherThread::spawn(&hive, |hive| hive.resize(2));
    let mut rounds = CheckedRegion::new(2);
    let bees = hive.team.bees();
    rounds.run(&hive, bees);
    resizer.join();
    hive.end();
}

/// The queen knows of the new worker from the hive's size alone, and must see what was made when the worker was hired.
fn region_after_hire() {
    let hive = Hive::new(2, PARK);
    exploration::explore();
    let hirer = OtherThread::spawn(&hive, |hive| hive.resize(2));
    let bees = hive.team.bees();
    CheckedRegion::new(2).run(&hive, bees);
    hirer.join();
    hive.end();
}

/// A thread that reads how many bees there are also finds their slots.
fn mail_after_hire() {
    let hive = Hive::queen_only_with_tasks(2, Sleep::jec());
    exploration::explore();
    let hirer = OtherThread::spawn(&hive, |hive| hive.resize(2));
    if hive.team.bees() == 2 {
        let (errand, task) = CheckedTask::new();
        hive.team.send_to_mailbox(1, task);
        errand.wait();
    }
    hirer.join();
    hive.end();
}

fn hire() {
    let hive = Hive::new(2, PARK);
    exploration::explore();
    let mut rounds = CheckedRegion::new(2);
    rounds.run(&hive, 1);
    rounds.run(&hive, 2);
    hive.end();
}
