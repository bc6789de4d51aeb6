//! The end of a hive: whatever the bees are doing, their threads end. Those that do not are loom's deadlock.

use super::Model;
use crate::hive::{HOT, Helper, Hive, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::all("end_hot", "a bee polls, has just run its part", || after_region(HOT)),
    Model::up_to(5, "end_sleepy", "a bee is awake, falls asleep, sleeps", || after_region(SLEEPY)),
    Model::all("end_rising", "a bee has just been woken for the first time", rising),
    Model::all("end_surplus", "a bee is surplus, parks, is parked, awake or asleep", || after_shrink(2)),
    Model::up_to(3, "end_two", "two bees, one of them surplus", || after_shrink(3)),
    Model::up_to(4, "end_settling", "somebody else waits for the surplus bee", settling),
];

fn after_region(policy: WaitPolicy) {
    let hive = Hive::staffed(2, 2, policy);
    Rounds::new(2).region(&hive, 2);
    hive.dismiss();
}

fn rising() {
    let hive = Hive::rising(2, 2, SLEEPY);
    stage::play();
    hive.dismiss();
}

fn after_shrink(bees: u32) {
    let hive = Hive::staffed(bees, bees, SLEEPY);
    hive.resize(bees - 1);
    hive.dismiss();
}

fn settling() {
    let hive = Hive::staffed(2, 2, SLEEPY);
    hive.resize(1);
    let settler = Helper::spawn(&hive, |hive| hive.crew.settle());
    hive.crew.dismiss_all();
    settler.join();
}
