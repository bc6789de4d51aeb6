//! Ordered sections: a bee whose turn will never come reports that instead of waiting for ever, and no bee reports it
//! wrongly.
//!
//! See `docs/collectives.md` for the check for a deadlock.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use common::{Gate, assert_contains_all, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive, Loop, Ordered, Schedule};

#[test]
fn a_turn_that_nobody_brings_is_told_of_when_all_others_have_left() {
    let _alone = run_exclusively();
    silence_panics("which nobody will bring");
    let hive = Hive::new(3).unwrap();
    for waiting in 0..3 {
        let turns = Ordered::new(0..8);
        let said = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() == waiting {
                    bee.ordered(&turns, 5, || ());
                }
            });
        });
        let who = format!("bee {waiting} of 3 waits for the turn of index 5");
        assert_contains_all(&said, &[&who, "the turn of index 0, which nobody will bring"]);
    }
    common::assert_hive_works(&hive, 3);
}

#[test]
fn bees_who_all_wait_for_one_that_is_missing_are_told() {
    let _alone = run_exclusively();
    silence_panics("which nobody will bring");
    let hive = Hive::new(3).unwrap();
    for _ in 0..20 {
        let turns = [Ordered::new(0..8), Ordered::new(10..18)];
        let said = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() == 0 {
                    bee.ordered(&turns[0], 0, || ());
                }
                // Indices 1 and 10 are missing, and bee 2 waits in another loop.
                bee.ordered(&turns[bee.id() / 2], [2, 3, 11][bee.id()], || ());
            });
        });
        assert_contains_all(&said, &["waits for the turn of index", "which nobody will bring"]);
    }
    common::assert_hive_works(&hive, 3);
}

#[test]
fn who_is_alone_is_told() {
    let _alone = run_exclusively();
    silence_panics("which nobody will bring");
    let hive = Hive::new(2).unwrap();
    let turns = Ordered::new(0..8);
    let said = panic_message(|| hive.spmd(1, |bee| bee.ordered(&turns, 3, || ())));
    assert_contains_all(&said, &["bee 0 of 1 waits for the turn of index 3, and it is the turn of index 0"]);
}

/// The bee that has the turn takes far longer than the others take to check for a deadlock, and continues from one turn
/// to the next.
#[test]
fn slow_turns_are_waited_for() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let (turns, done) = (Ordered::new(0..12), AtomicUsize::new(0));
    hive.spmd(3, |bee| {
        for index in (bee.id()..12).step_by(3) {
            bee.ordered(&turns, index, || {
                sleep(Duration::from_millis(20));
                assert_eq!(done.fetch_add(1, Ordering::Relaxed), index);
            });
        }
    });
    assert_eq!(done.into_inner(), 12);
}

/// Turns pass between the bees fast and with waits of all lengths, so bees become stalled and stop being so while
/// others check for a deadlock.
#[test]
fn nobody_is_told_of_a_turn_that_comes() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let (turns, done) = (Ordered::new(0..4_000), AtomicUsize::new(0));
    hive.spmd(4, |bee| {
        for index in (bee.id()..4_000).step_by(4) {
            bee.ordered(&turns, index, || {
                if index % 97 == 0 {
                    sleep(Duration::from_micros(300));
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.into_inner(), 4_000);
}

/// All bees of a nested region wait for a turn that a bee of the outer region brings.
#[test]
fn a_bee_of_the_region_around_may_still_pass_the_turn_on() {
    let _alone = run_exclusively();
    let (outer, inner) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    let (turns, gate) = (Ordered::new(0..3), Gate::new());
    outer.spmd(2, |bee| {
        if bee.id() == 0 {
            inner.spmd(2, |bee| {
                gate.arrive();
                // If the region has one bee, that bee brings both.
                (1..3).skip(bee.id()).step_by(bee.bees()).for_each(|index| bee.ordered(&turns, index, || ()));
            });
        } else {
            gate.wait_for(1);
            // Far longer than a check for a deadlock takes.
            sleep(Duration::from_millis(300));
            bee.ordered(&turns, 0, || ());
        }
    });
}

/// Whatever turns a panic leaves in one region, the next region begins with the first turn, and each index has its turn
/// in order. The same holds in the round after that.
#[test]
fn turns_begin_anew_in_the_region_after_a_panic() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let hive = Hive::new(3).unwrap();
    for team in 1..=3 {
        for schedule in [Schedule::Static, Schedule::StaticChunk(1), Schedule::Dynamic(1)] {
            let turns = Ordered::new(10..40);
            for (bad, amid_turn) in (10..40).step_by(3).flat_map(|bad| [(bad, false), (bad, true)]) {
                let check = |index: usize| assert!(index != bad, "as expected");
                let shared = Loop::new(10..40, schedule);
                let said = panic_message(|| {
                    hive.spmd(team, |bee| {
                        bee.for_each(&shared, |range| {
                            for index in range {
                                if !amid_turn {
                                    check(index);
                                }
                                bee.ordered(&turns, index, || check(index));
                            }
                        });
                    });
                });
                assert_eq!(said, "as expected");
                let (shared, log) = (Loop::new(10..40, schedule), Mutex::new(Vec::new()));
                let round = |bee: &Bee<'_>| {
                    bee.for_each(&shared, |range| {
                        range.for_each(|index| bee.ordered(&turns, index, || log.lock().unwrap().push(index)))
                    });
                };
                hive.spmd(team, |bee| (0..2).for_each(|_| round(bee)));
                let log = log.into_inner().unwrap();
                assert!(
                    log.iter().copied().eq((10..40).chain(10..40)),
                    "{team} bees, {schedule:?}, panic at {bad}: {log:?}"
                );
            }
        }
    }
}

/// The first index of a round may go to a bee that had no turn in the round before.
#[test]
fn nobody_begins_anew_amid_the_turns_of_its_own_region() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let (turns, inside) = (Ordered::new(0..2), AtomicUsize::new(0));
    for _ in 0..200 {
        let shared = Loop::new(0..2, Schedule::Dynamic(1));
        hive.spmd(3, |bee| {
            for _ in 0..5 {
                bee.for_each(&shared, |range| {
                    range.for_each(|index| {
                        bee.ordered(&turns, index, || {
                            assert_eq!(inside.fetch_add(1, Ordering::Relaxed) % 2, index);
                        });
                    });
                });
                // Without this barrier, a bee without a turn in this round may be ahead and bring the first index of
                // the next round while the first of this round has not come yet.
                bee.barrier();
            }
        });
    }
    assert_eq!(inside.into_inner(), 2_000);
}
