//! Start and join, by bees that poll and bees that sleep.

use std::sync::Arc;

use super::Model;
use crate::crew::{Follower, Leader, Stage as Lines};
use crate::hive::{HOT, Hive, PATIENT, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::all("start_hot", "one bee polls through three regions", || play(HOT, 2, &[2, 2, 2])),
    Model::up_to(2, "start_hot_two", "two bees poll through two regions", || play(HOT, 3, &[3, 3])),
    Model::up_to(2, "start_sizes", "two bees poll through regions of 3, 2, 1 and 3", || play(HOT, 3, &[3, 2, 1, 3])),
    Model::up_to(4, "sleep_one", "one bee may sleep before and after each of two regions", || play(SLEEPY, 2, &[2, 2])),
    Model::all("sleep_once", "one bee falls asleep while a region starts", || play(SLEEPY, 2, &[2])),
    Model::up_to(3, "sleep_one_patient", "the same, with a second poll before sleeping", || play(PATIENT, 2, &[2, 2])),
    Model::up_to(3, "sleep_two_once", "two bees fall asleep while a region starts", || play(SLEEPY, 3, &[3])),
    Model::up_to(
        1,
        "sleep_three_once",
        "three bees fall asleep while a region starts, and one of them is to wake another",
        || play(SLEEPY, 4, &[4]),
    ),
    Model::up_to(2, "sleep_beside", "two bees fall asleep while a region starts that needs one of them", || {
        play(SLEEPY, 3, &[2])
    }),
    Model::all("rehearsal", "two threads rehearse two regions on a line", rehearse),
    Model::up_to(2, "sleep_two", "two bees may sleep", || play(SLEEPY, 3, &[3, 2, 3])),
];

fn play(policy: WaitPolicy, bees: u32, teams: &[u32]) {
    regions(Hive::staffed(bees, bees, policy), bees, teams);
}

/// Regions of these teams in a hive of up to `bees`.
pub(super) fn regions(hive: Hive, bees: u32, teams: &[u32]) {
    let mut rounds = Rounds::new(bees);
    teams.iter().for_each(|&team| rounds.region(&hive, team));
    hive.end();
}

fn rehearse() {
    const REGIONS: u32 = 2;
    /// See `stage::give_way`.
    const EXPLORED_LOOKS: u32 = 8;
    let look_again = || {
        stage::give_way(EXPLORED_LOOKS);
        true
    };
    let lines = Arc::new(Lines::new(1));
    stage::play();
    let bee = loom::thread::spawn({
        let lines = Arc::clone(&lines);
        move || {
            let mut follower = Follower::new(&lines.lines()[0]);
            (0..REGIONS).for_each(|_| follower.region(look_again).expect("never given up"));
        }
    });
    let mut leader = Leader::new(&lines.lines()[0]);
    (0..REGIONS).for_each(|_| leader.region(look_again).expect("never given up"));
    bee.join().expect("the follower ends");
    assert_eq!(lines.look().epoch(), u64::from(REGIONS), "regions rehearsed");
}
