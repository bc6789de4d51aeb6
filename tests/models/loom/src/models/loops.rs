//! Loops that a team shares out: each unit of each round is run once, however far apart the members are.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Model;
use crate::crew::Member;
use crate::hive::{HOT, Hive};
use crate::loops::{Generations, Loop, Way};
use crate::stage;
use crate::sync::set_rounds_of_a_generation;

use Way::{FromQueue, InParts, OneByOne};

pub(super) const MODELS: &[Model] = &[
    Model::up_to(2, "loop_round", "two members, a round of two units", || rounds(OneByOne, 2, 2, 1)),
    Model::up_to(1, "loop_batch", "two members, a round of three units, of which two are claimed at once", || {
        rounds(OneByOne, 2, 3, 1)
    }),
    Model::up_to(1, "loop_parts", "two members, a round of four units in parts", || rounds(InParts, 2, 4, 1)),
    Model::up_to(3, "loop_queue", "two members, two rounds from one queue", || rounds(FromQueue, 2, 3, 2)),
    Model::up_to(1, "loop_rounds", "two members, two rounds of a unit", || rounds(OneByOne, 2, 1, 2)),
    Model::up_to(1, "loop_rounds_parts", "the same in parts", || rounds(InParts, 2, 1, 2)),
    Model::up_to(1, "loop_barriers", "two members, two rounds with a barrier after each", with_barriers),
    Model::up_to(1, "loop_regions", "a round in a second region", || regions(OneByOne)),
    Model::up_to(2, "loop_regions_queue", "the same from one queue", || regions(FromQueue)),
    Model::up_to(1, "loop_regions_after_panic", "the same after a round that both have left by a panic", regions_after_panic),
    Model::up_to(2, "loop_spare_first", "loops of one unit and of two on one board, each a region of its own: the first", || {
        spare(0)
    }),
    Model::up_to(2, "loop_spare_second", "the second of those", || spare(1)),
    Model::up_to(2, "loop_generations", "two that are no team go through three generations of a unit", || among(2, 3)),
    Model::up_to(1, "loop_generations_again", "four generations, in which sets of words are used again", || among(2, 4)),
    Model::up_to(1, "loop_generations_team", "two members, three rounds from one queue, each a generation", || {
        set_rounds_of_a_generation(1);
        rounds(FromQueue, 2, 1, 3);
    }),
    Model::up_to(1, "loop_generations_regions", "the same in a second region", generations_of_regions),
    Model::up_to(1, "loop_caught", "a round after one that both have left by a panic, in the same region", caught),
];

/// A region of so many rounds, one straight after the other.
fn rounds(way: Way, team: u32, units: u32, rounds: u32) {
    let hive = Hive::assembled(team, HOT);
    let shared = Loop::new(way, team, units, rounds);
    within(&hive, team, |member| (0..rounds).for_each(|round| shared.run(member, round, |_| {})));
    (0..rounds).for_each(|round| shared.assert_run(round));
    hive.end();
}

/// Sets of words are used again by the third generation, or not if somebody was left behind by the next.
fn among(members: u32, generations: u32) {
    let shared = Arc::new(Generations::new(members, generations));
    stage::play();
    let others: Vec<_> = (1..members)
        .map(|_| {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || shared.go_through())
        })
        .collect();
    shared.go_through();
    others.into_iter().for_each(|other| other.join().expect("ends"));
    shared.assert_run();
}

/// What the first region has left of its sets is as new.
fn generations_of_regions() {
    set_rounds_of_a_generation(1);
    let hive = Hive::assembled(2, HOT);
    let shared = Loop::new(FromQueue, 2, 1, 6);
    hive.region(2, |member| (0..3).for_each(|round| shared.run(member, round, |_| {})));
    within(&hive, 2, |member| (3..6).for_each(|round| shared.run(member, round, |_| {})));
    (0..6).for_each(|round| shared.assert_run(round));
    hive.end();
}

/// A region of which only what `body` does is explored, not how it begins and ends.
fn within(hive: &Hive, team: u32, body: impl Fn(&Member<'_>) + Sync) {
    // Not seen by loom.
    let at_work = AtomicU32::new(team);
    hive.region(team, |member| {
        member.barrier();
        stage::play();
        body(member);
        if at_work.fetch_sub(1, Ordering::Relaxed) == 1 {
            stage::end();
        }
    });
}

/// As `par_for` has it: the second member has no unit of the first loop, and must have been through it all the same.
fn spare(explored: u32) {
    let hive = Hive::assembled(2, HOT);
    let shared = Loop::new(OneByOne, 2, 2, 2);
    for (round, units) in [(0, 1), (1, 2)] {
        if round == explored {
            within(&hive, 2, |member| shared.run_alone(member, round, units));
        } else {
            hive.region(2, |member| shared.run_alone(member, round, units));
        }
        shared.assert_run_of(round, units);
    }
    hive.end();
}

fn with_barriers() {
    let hive = Hive::assembled(2, HOT);
    let shared = Loop::new(OneByOne, 2, 2, 2);
    within(&hive, 2, |member| {
        for round in 0..2 {
            shared.run(member, round, |_| {});
            member.barrier();
            shared.assert_run(round);
        }
    });
    hive.end();
}

/// A round that each member leaves by a panic of its first unit, if it gets one.
fn leave(shared: &Loop, member: &Member<'_>) {
    let _ = catch_unwind(AssertUnwindSafe(|| shared.run(member, 0, |_| resume_unwind(Box::new("as expected")))));
}

fn regions_after_panic() {
    let hive = Hive::assembled(2, HOT);
    let shared = Loop::new(InParts, 2, 4, 2);
    hive.region(2, |member| leave(&shared, member));
    within(&hive, 2, |member| shared.run(member, 1, |_| {}));
    shared.assert_run(1);
    hive.end();
}

fn caught() {
    let hive = Hive::assembled(2, HOT);
    let shared = Loop::new(InParts, 2, 4, 2);
    within(&hive, 2, |member| {
        leave(&shared, member);
        shared.run(member, 1, |_| {});
    });
    shared.assert_run(1);
    hive.end();
}

/// The board is made as new by who comes first to the second region.
fn regions(way: Way) {
    let hive = Hive::assembled(2, HOT);
    let shared = Loop::new(way, 2, 2, 2);
    hive.region(2, |member| shared.run(member, 0, |_| {}));
    shared.assert_run(0);
    within(&hive, 2, |member| shared.run(member, 1, |_| {}));
    shared.assert_run(1);
    hive.end();
}
