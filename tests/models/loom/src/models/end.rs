//! Models of the end of a hive: whatever the workers are doing, their threads end. loom reports a deadlock if one does
//! not.

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK, SPIN};
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("end_spin", "a worker polls or has just run its part", || after_region(SPIN)),
    Model::bounded(5, "end_park", "a worker is awake, falls asleep or sleeps", || after_region(PARK)),
    Model::exhaustive("end_first_wake", "a worker has just been woken for the first time", during_first_wake),
    Model::exhaustive("end_surplus", "a worker is surplus, parks or is parked, awake or asleep", || after_shrink(2)),
    Model::bounded(3, "end_two", "two workers, one of them surplus", || after_shrink(3)),
    Model::bounded(
        4,
        "end_wait_until_parked",
        "another thread waits until the surplus worker is parked",
        during_wait_until_parked,
    ),
];

fn after_region(policy: WaitPolicy) {
    let hive = Hive::with_workers(2, 2, policy);
    CheckedRegion::new(2).run(&hive, 2);
    hive.terminate();
}

fn during_first_wake() {
    let hive = Hive::with_starting_workers(2, 2, PARK);
    exploration::explore();
    hive.terminate();
}

fn after_shrink(bees: u32) {
    let hive = Hive::with_workers(bees, bees, PARK);
    hive.resize(bees - 1);
    hive.terminate();
}

fn during_wait_until_parked() {
    let hive = Hive::with_workers(2, 2, PARK);
    hive.resize(1);
    let settler = OtherThread::spawn(&hive, |hive| hive.team.wait_until_parked());
    hive.team.terminate_all();
    settler.join();
}
