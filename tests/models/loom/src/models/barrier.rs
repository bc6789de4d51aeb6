//! Barriers inside a region, with data handed across each in all directions.

use super::Model;
use crate::data::{Datum, data};
use crate::hive::{HOT, Hive, PATIENT, SLEEPY};
use crate::rounds::Rounds;
use crate::stage;
use crate::sync::WaitPolicy;

pub(super) const MODELS: &[Model] = &[
    Model::all("barrier_hot", "two members, two barriers, nobody dozes", || play(HOT, 2, 2, 1)),
    Model::up_to(4, "barrier_doze", "two members, one barrier, who waits dozes", || play(SLEEPY, 2, 1, 1)),
    Model::up_to(3, "barrier_patient", "the same, after a second poll", || play(PATIENT, 2, 1, 1)),
    Model::up_to(3, "barrier_doze_twice", "two members, two barriers, who waits dozes", || play(SLEEPY, 2, 2, 1)),
    Model::up_to(3, "barrier_late_waker", "a barrier in each of two regions: who lets go may be late", || play(SLEEPY, 2, 1, 2)),
    Model::up_to(1, "barrier_hot_three", "three members, one barrier, nobody dozes", || play(HOT, 3, 1, 1)),
    Model::up_to(2, "barrier_doze_three", "three members, one barrier, who waits dozes", || play(SLEEPY, 3, 1, 1)),
];

fn play(policy: WaitPolicy, team: u32, barriers: u32, regions: u32) {
    meet(Hive::staffed(team, team, policy), team, barriers, regions);
}

/// So many barriers in each of so many regions.
pub(super) fn meet(hive: Hive, team: u32, barriers: u32, regions: u32) {
    let cells = data(team * barriers);
    let given = Datum::new(0);
    for region in 1..=regions {
        given.set(region);
        hive.region(team, |member| {
            let id = member.id();
            assert_eq!(given.get(), region);
            for barrier in 0..barriers {
                cells[(barrier * team + id) as usize].set(10 * region + id);
                member.barrier();
                for other in 0..team {
                    assert_eq!(
                        cells[(barrier * team + other) as usize].get(),
                        10 * region + other,
                        "member {id} looks at {other}'s"
                    );
                }
            }
        });
    }
    stage::end();
    Rounds::new(team).region(&hive, team);
    hive.end();
}
