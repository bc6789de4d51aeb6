//! Models of loops that a team shares out: each unit of each round is run once, however far apart the bees are.
//!
//! The protocol is described in `docs/loops.md`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Model;
use crate::exploration;
use crate::hive::{Hive, SPIN};
use crate::loops::{Distribution, Generations, Loop};
use crate::protocol::region::region_context::RegionContext;
use crate::sync::set_rounds_per_generation;

use Distribution::{FromQueue, InParts, OneByOne};

pub(super) const MODELS: &[Model] = &[
    Model::bounded(2, "loop_round", "two bees, a round of two units", || rounds(OneByOne, 2, 2, 1)),
    Model::bounded(1, "loop_batch", "two bees, a round of three units, of which two are claimed at once", || {
        rounds(OneByOne, 2, 3, 1)
    }),
    Model::bounded(1, "loop_affinity", "two bees, a round of four units in parts", || rounds(InParts, 2, 4, 1)),
    Model::bounded(3, "loop_queue", "two bees, two rounds from one queue", || rounds(FromQueue, 2, 3, 2)),
    Model::bounded(1, "loop_rounds", "two bees, two rounds of a unit", || rounds(OneByOne, 2, 1, 2)),
    Model::bounded(1, "loop_rounds_affinity", "the same in parts", || rounds(InParts, 2, 1, 2)),
    Model::bounded(1, "loop_barriers", "two bees, two rounds with a barrier after each", with_barriers),
    Model::bounded(
        1,
        "loop_for_range",
        "two bees, a round from one queue and one from their ranges, with barriers",
        || of_different_loops(&[(FromQueue, 2), (OneByOne, 2)]),
    ),
    Model::bounded(1, "loop_for_range_alone", "a round from the range of one bee, and one from those of both", || {
        of_different_loops(&[(OneByOne, 1), (InParts, 2)])
    }),
    Model::bounded(
        1,
        "loop_for_range_rounds",
        "a round from the range of one bee, one from the queue, and one from both ranges",
        || of_different_loops(&[(OneByOne, 1), (FromQueue, 2), (OneByOne, 2)]),
    ),
    Model::bounded(1, "loop_regions", "a round in a second region", || regions(OneByOne)),
    Model::bounded(2, "loop_regions_queue", "the same from one queue", || regions(FromQueue)),
    Model::bounded(
        1,
        "loop_regions_after_panic",
        "the same after a round that both bees have left by a panic",
        regions_after_panic,
    ),
    Model::bounded(
        2,
        "loop_cached_first",
        "two loops share one loop state, with one unit and with two, each in its own region; the first is explored",
        || cached(0),
    ),
    Model::bounded(2, "loop_cached_second", "the same, and the second is explored", || cached(1)),
    Model::bounded(
        2,
        "loop_generations",
        "two threads that are no team go through three generations of one unit",
        || without_team(2, 3),
    ),
    Model::bounded(1, "loop_generations_again", "four generations, in which buffers are used again", || {
        without_team(2, 4)
    }),
    Model::bounded(1, "loop_generations_team", "two bees, three rounds from one queue, each a generation", || {
        set_rounds_per_generation(1);
        rounds(FromQueue, 2, 1, 3);
    }),
    Model::bounded(1, "loop_generations_regions", "the same in a second region", generations_of_regions),
];

/// Runs a region of `rounds` rounds, one directly after the other.
fn rounds(way: Distribution, bees: u32, units: u32, rounds: u32) {
    let hive = Hive::with_workers_unexplored(bees, SPIN);
    let shared = Loop::new(way, bees, units, rounds);
    in_region(&hive, bees, |context| (0..rounds).for_each(|round| shared.run(context, round, |_| {})));
    (0..rounds).for_each(|round| shared.assert_run(round));
    hive.end();
}

/// Threads that are not a team go through generations. The third generation reuses the buffer of the first, unless a
/// bee is still there.
fn without_team(bees: u32, generations: u32) {
    let shared = Arc::new(Generations::new(bees, generations));
    exploration::explore();
    let others: Vec<_> = (1..bees)
        .map(|_| {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || shared.run_all())
        })
        .collect();
    shared.run_all();
    others.into_iter().for_each(|other| other.join().expect("ends"));
    shared.assert_run();
}

/// The buffers that the first region has left are reset before the second region uses them.
fn generations_of_regions() {
    set_rounds_per_generation(1);
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let shared = Loop::new(FromQueue, 2, 1, 6);
    hive.region(2, |context| (0..3).for_each(|round| shared.run(context, round, |_| {})));
    in_region(&hive, 2, |context| (3..6).for_each(|round| shared.run(context, round, |_| {})));
    (0..6).for_each(|round| shared.assert_run(round));
    hive.end();
}

/// Runs a region of which only `body` is explored, and not its start and end.
fn in_region(hive: &Hive, bees: u32, body: impl Fn(&RegionContext<'_>) + Sync) {
    // loom does not see this.
    let at_work = AtomicU32::new(bees);
    hive.region(bees, |context| {
        context.barrier();
        exploration::explore();
        body(context);
        if at_work.fetch_sub(1, Ordering::Relaxed) == 1 {
            exploration::stop_exploring();
        }
    });
}

/// Two loops share one loop state, each in a region of its own, as `par_for` has them. The second bee has no unit of
/// the first loop, and must have gone through that loop all the same.
fn cached(explored: u32) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let shared = Loop::new(OneByOne, 2, 2, 2);
    for (round, units) in [(0, 1), (1, 2)] {
        if round == explored {
            in_region(&hive, 2, |context| shared.run_alone(context, round, units));
        } else {
            hive.region(2, |context| shared.run_alone(context, round, units));
        }
        shared.assert_run_of(round, units);
    }
    hive.end();
}

fn with_barriers() {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let shared = Loop::new(OneByOne, 2, 2, 2);
    in_region(&hive, 2, |context| {
        for round in 0..2 {
            shared.run(context, round, |_| {});
            context.barrier();
            shared.assert_run(round);
        }
    });
    hive.end();
}

/// Rounds as those of `Bee::for_range`: each is of another loop, on as many bees as are said here, and ends with a
/// barrier.
fn of_different_loops(rounds: &[(Distribution, u32)]) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let shared = Loop::new(OneByOne, 2, 2, rounds.len() as u32);
    in_region(&hive, 2, |context| {
        for (round, (distribution, active)) in (0..).zip(rounds) {
            shared.run_as(context, round, *distribution, *active);
            context.barrier();
            shared.assert_run(round);
        }
    });
    hive.end();
}

/// Runs a round in which each bee that gets a unit panics at its first, and catches the panic outside of the loop.
fn leave_by_panic(shared: &Loop, context: &RegionContext<'_>) {
    let _ = catch_unwind(AssertUnwindSafe(|| shared.run(context, 0, |_| resume_unwind(Box::new("as expected")))));
}

fn regions_after_panic() {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let shared = Loop::new(InParts, 2, 4, 2);
    hive.region(2, |context| leave_by_panic(&shared, context));
    in_region(&hive, 2, |context| shared.run(context, 1, |_| {}));
    shared.assert_run(1);
    hive.end();
}

/// In the second region, the first bee to come resets the loop state.
fn regions(way: Distribution) {
    let hive = Hive::with_workers_unexplored(2, SPIN);
    let shared = Loop::new(way, 2, 2, 2);
    hive.region(2, |context| shared.run(context, 0, |_| {}));
    shared.assert_run(0);
    in_region(&hive, 2, |context| shared.run(context, 1, |_| {}));
    shared.assert_run(1);
    hive.end();
}
