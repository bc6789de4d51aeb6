//! Models of the start and the end of a region, with workers that poll and workers that sleep.
//!
//! The protocol is described in `docs/start.md`.

use std::sync::Arc;

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::exploration;
use crate::hive::{Hive, PARK, SPIN, SPIN_THEN_PARK};
use crate::protocol::region::barrier_word::BaseCount;
use crate::protocol::region::line_choice::{LineChoice as Lines, follow_region, lead_region};
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("start_spin", "one worker polls through three regions", || play(SPIN, 2, &[2, 2, 2])),
    Model::bounded(2, "start_spin_two", "two workers poll through two regions", || play(SPIN, 3, &[3, 3])),
    Model::bounded(2, "start_sizes", "two workers poll through regions of 3, 2, 1 and 3 bees", || {
        play(SPIN, 3, &[3, 2, 1, 3])
    }),
    Model::bounded(4, "sleep_one", "one worker may sleep before and after each of two regions", || {
        play(PARK, 2, &[2, 2])
    }),
    Model::exhaustive("sleep_once", "one worker falls asleep while a region starts", || play(PARK, 2, &[2])),
    Model::bounded(3, "sleep_one_spin_then_park", "the same, with a second poll before sleeping", || {
        play(SPIN_THEN_PARK, 2, &[2, 2])
    }),
    Model::bounded(3, "sleep_two_once", "two workers fall asleep while a region starts", || play(PARK, 3, &[3])),
    Model::bounded(
        1,
        "sleep_three_once",
        "three workers fall asleep while a region starts, and one of them is to wake another",
        || play(PARK, 4, &[4]),
    ),
    Model::bounded(
        2,
        "sleep_bees_not_needed",
        "two workers fall asleep while a region starts that needs one of them",
        || play(PARK, 3, &[2]),
    ),
    Model::exhaustive("calibration", "two threads calibrate a start line with two regions", calibrate),
    Model::bounded(2, "sleep_two", "two workers may sleep", || play(PARK, 3, &[3, 2, 3])),
];

fn play(policy: WaitPolicy, bees: u32, teams: &[u32]) {
    regions(Hive::with_workers(bees, bees, policy), bees, teams);
}

/// Runs regions of these sizes in a hive of up to `bees`.
pub(super) fn regions(hive: Hive, bees: u32, teams: &[u32]) {
    let mut rounds = CheckedRegion::new(bees);
    teams.iter().for_each(|&team| rounds.run(&hive, team));
    hive.end();
}

fn calibrate() {
    const REGIONS: u32 = 2;
    /// See `exploration::yield_in_wait`.
    const EXPLORED_LOOKS: u32 = 8;
    let look_again = || {
        exploration::yield_in_wait(EXPLORED_LOOKS);
        true
    };
    let lines = Arc::new(Lines::new(1));
    exploration::explore();
    let bee = loom::thread::spawn({
        let lines = Arc::clone(&lines);
        move || {
            let mut last_epoch = 0;
            (0..REGIONS).for_each(|_| follow_region(&lines, &mut last_epoch, look_again).expect("never given up"));
        }
    });
    let mut base = BaseCount::FIRST;
    (0..REGIONS).for_each(|_| lead_region(&lines, &mut base, look_again).expect("never given up"));
    bee.join().expect("the follower ends");
    assert_eq!(lines.load().epoch(), u64::from(REGIONS), "regions rehearsed");
}
