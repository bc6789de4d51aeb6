//! Bees of one team that come to a barrier for different operations on values: they are told which bee has called what,
//! and no bee continues with a wrong value.
//!
//! See `docs/collectives.md`.

#![cfg(target_os = "linux")]

mod common;

use common::{assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive, Reduction};

/// A call by its name in the message, and whether it needs the values of all other bees, if it has any.
struct Call {
    name: &'static str,
    wants_all: bool,
    run: fn(&Bee<'_>),
}

/// All calls have values of the same type where possible, and the same values, so that only the operation distinguishes
/// them.
const CALLS: [Call; 11] = [
    Call { name: "all_reduce", wants_all: true, run: |bee| _ = bee.all_reduce(7, |a, b| a + b) },
    Call { name: "reduce", wants_all: false, run: |bee| _ = bee.reduce(7, |a, b| a + b) },
    Call { name: "scan_inclusive", wants_all: false, run: |bee| _ = bee.scan_inclusive(7, |a, b| a + b) },
    Call { name: "scan_exclusive", wants_all: false, run: |bee| _ = bee.scan_exclusive(0, 7, |a, b| a + b) },
    Call { name: "broadcast_from", wants_all: false, run: |bee| _ = bee.broadcast_from(0, || 7) },
    Call { name: "broadcast_from", wants_all: false, run: |bee| _ = bee.broadcast_from(bee.bees() - 1, || 7) },
    Call { name: "single", wants_all: false, run: |bee| _ = bee.single(|| 7) },
    Call { name: "single", wants_all: false, run: |bee| bee.single(|| ()) },
    Call {
        name: "reduce_over",
        wants_all: true,
        run: |bee| _ = bee.reduce_over(0..7, &Reduction::per_team_size(0, |a, b| a + b), |range| range.len()),
    },
    Call {
        name: "reduce_over",
        wants_all: true,
        run: |bee| _ = bee.reduce_over(0..7, &Reduction::deterministic(0, |a, b| a + b), |range| range.len()),
    },
    Call { name: "a barrier alone", wants_all: false, run: |bee| bee.barrier() },
];

#[test]
fn bees_who_call_different_operations_are_told_which() {
    let _alone = run_exclusively();
    silence_panics("all bees of a team must");
    for team in [2, 3, 5] {
        let hive = Hive::new(team).unwrap();
        let different =
            (0..CALLS.len() * CALLS.len()).map(|pair| (pair / CALLS.len(), pair % CALLS.len())).filter(|(a, b)| a != b);
        for (most, odd) in different {
            for who in 0..team {
                assert_mismatch_reported(&hive, team, (&CALLS[most], &CALLS[odd]), who);
            }
        }
        assert_hive_works(&hive, team);
    }
}

/// All bees of a team make one call, except bee `who`, which makes the other.
#[track_caller]
fn assert_mismatch_reported(hive: &Hive, team: usize, (majority, odd_call): (&Call, &Call), who: usize) {
    // Without debug assertions, a bee checks only those bees whose values it needs.
    if !cfg!(debug_assertions) && !majority.wants_all && !odd_call.wants_all {
        return;
    }
    let said = panic_message(|| {
        hive.spmd(team, |bee| if bee.id() == who { (odd_call.run)(bee) } else { (majority.run)(bee) })
    });
    assert_contains_all(&said, &["barrier number 1", majority.name, odd_call.name]);
    let about = if majority.name == odd_call.name && majority.name == "broadcast_from" {
        "all bees of a team must name the same"
    } else if majority.name == odd_call.name {
        "with a value of another type"
    } else {
        "in the same order"
    };
    assert_contains_all(&said, &[about]);
}

/// The values that bees continued with when only the types were compared: those of another operation.
#[test]
fn no_value_comes_from_another_operation() {
    let _alone = run_exclusively();
    silence_panics("all bees of a team must");
    let hive = Hive::new(5).unwrap();
    let add = |a, b| a + b;
    for team in [2, 3, 5] {
        for queen_is_odd in [true, false] {
            let is_odd = |bee: &Bee<'_>| bee.is_queen() == queen_is_odd;
            let said = panic_message(|| {
                hive.spmd(team, |bee| _ = if is_odd(bee) { bee.single(|| 7) } else { bee.all_reduce(1, add) })
            });
            assert_contains_all(&said, &["single", "all_reduce"]);
            let scans =
                |bee: &Bee<'_>| if is_odd(bee) { bee.scan_exclusive(0, 1, add) } else { bee.scan_inclusive(1, add) };
            let said = panic_message(|| hive.spmd(team, |bee| _ = scans(bee)));
            assert_contains_all(&said, &["scan_exclusive", "scan_inclusive"]);
        }
    }
    assert_hive_works(&hive, 5);
}

/// A large team, in which the queen alone combines the values and passes the result to the others.
#[test]
fn large_teams_are_told_by_the_name_that_was_called() {
    let _alone = run_exclusively();
    silence_panics("all bees of a team must");
    let hive = Hive::new(17).unwrap();
    let add = |a, b| a + b;
    let mixed = |bee: &Bee<'_>| if bee.id() == 3 { bee.scan_inclusive(1, add) } else { bee.all_reduce(1, add) };
    let said = panic_message(|| hive.spmd(17, |bee| _ = mixed(bee)));
    assert_contains_all(&said, &["scan_inclusive", "all_reduce"]);
    assert_hive_works(&hive, 17);
}
