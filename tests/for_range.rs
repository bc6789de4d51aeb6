//! `Bee::for_range`: loops that the bees of a region make inside of it. Each index is run once, whatever the schedule
//! and the team; different arguments are found; and so is a `Loop` that a bee has made for itself.

#![cfg(target_os = "linux")]

mod common;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::{assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive, Loop, Schedule};

const SCHEDULES: [Schedule; 7] = [
    Schedule::Static,
    Schedule::StaticChunk(3),
    Schedule::Dynamic(1),
    Schedule::Dynamic(4),
    Schedule::Guided(2),
    Schedule::Factoring,
    Schedule::Affinity,
];

/// How often each index was run.
struct Runs(Vec<AtomicUsize>);

impl Runs {
    fn new(len: usize) -> Self {
        Self((0..len).map(|_| AtomicUsize::new(0)).collect())
    }

    fn count(&self, range: Range<usize>) {
        range.for_each(|i| _ = self.0[i].fetch_add(1, Ordering::Relaxed));
    }

    /// The indices below `start` were run `before` times, the others `after` times.
    #[track_caller]
    fn assert_are(&self, expected: impl Fn(usize) -> usize) {
        for (i, runs) in self.0.iter().enumerate() {
            assert_eq!(runs.load(Ordering::Relaxed), expected(i), "index {i}");
        }
    }
}

#[test]
fn each_index_is_run_once_and_all_are_done_at_the_end() {
    let _alone = run_exclusively();
    let hive = Hive::new(5).unwrap();
    for schedule in SCHEDULES {
        for team in 1..=5 {
            const LEN: usize = 40;
            let runs = Runs::new(LEN);
            hive.spmd(team, |bee| {
                // The bounds of a factorisation: each step has fewer indices than the one before.
                for k in 0..LEN {
                    bee.for_range((k..LEN, schedule), |range| runs.count(range));
                    // No barrier in between: this is what the next step would read.
                    assert!(runs.0[k..].iter().all(|runs| runs.load(Ordering::Relaxed) > k));
                    bee.barrier();
                }
            });
            runs.assert_are(|i| i + 1);
        }
    }
}

#[test]
fn aligned_loops_loops_of_few_bees_and_plans_can_be_run() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let (runs, plan) = (Runs::new(100), hive.plan(100));
    for team in [2, 3, 4] {
        hive.spmd(team, |bee| {
            bee.for_range(0..100, |range| runs.count(range));
            for schedule in SCHEDULES {
                bee.for_range(Loop::new(0..100, schedule).aligned(8), |range| {
                    assert_eq!(range.start % 8, 0);
                    runs.count(range);
                });
                bee.for_range(Loop::new(0..100, schedule).min_work(60), |range| {
                    assert_eq!(bee.id(), 0, "100 indices are enough for one bee");
                    runs.count(range);
                });
            }
            bee.for_range(&plan, |range| runs.count(range));
        });
    }
    runs.assert_are(|_| 3 * (2 + 2 * SCHEDULES.len()));
}

#[test]
fn more_rounds_in_a_region_than_round_numbers() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let (runs, rounds) = (Runs::new(3), if cfg!(debug_assertions) { 20_000 } else { 200_000 });
    hive.spmd(2, |bee| {
        for round in 0..rounds {
            let schedule = if round % 3 == 0 { Schedule::Guided(1) } else { Schedule::Dynamic(1) };
            bee.for_range((0..3, schedule), |range| runs.count(range));
        }
    });
    runs.assert_are(|_| rounds);
}

/// What bees may call by mistake in one place.
const CALLS: [fn(&Bee<'_>); 8] = [
    |bee| bee.for_range(0..100, drop),
    |bee| bee.for_range(0..99, drop),
    |bee| bee.for_range((0..100, Schedule::Dynamic(1)), drop),
    |bee| bee.for_range((1..100, Schedule::Dynamic(1)), drop),
    |bee| bee.for_range((0..100, Schedule::Dynamic(2)), drop),
    |bee| bee.for_range((0..10_000, Schedule::Guided(1)), drop),
    |bee| bee.for_range(Loop::new(0..100, Schedule::Affinity).aligned(8), drop),
    |bee| bee.for_range(Loop::new(0..100, Schedule::Dynamic(1)).min_work(60), drop),
];

#[test]
fn different_arguments_are_found_whoever_has_them() {
    let _alone = run_exclusively();
    silence_panics("all bees of a team must");
    let hive = Hive::new(4).unwrap();
    let rounds = if cfg!(debug_assertions) { 2 } else { 20 };
    let pairs = (0..CALLS.len() * CALLS.len()).map(|pair| (pair / CALLS.len(), pair % CALLS.len()));
    for (most, odd) in pairs.filter(|(most, odd)| most != odd) {
        for team in [2, 4] {
            for who in [0, team - 1] {
                for before in [0, rounds] {
                    let message = panic_message(|| {
                        hive.spmd(team, |bee| {
                            (0..before).for_each(|_| CALLS[2](bee));
                            CALLS[if bee.id() == who { odd } else { most }](bee);
                        });
                    });
                    assert_contains_all(&message, &["for_range with equal arguments", "calls it with"]);
                }
            }
        }
    }
    assert_hive_works(&hive, 4);
}

/// The bees have not begun the same number of rounds, so the loops after that would leave out indices.
#[test]
fn after_different_arguments_no_region_succeeds_by_catching_the_panic() {
    let _alone = run_exclusively();
    silence_panics("all bees of a team must");
    silence_panics("bee");
    let hive = Hive::new(2).unwrap();
    for (of_queen, of_worker) in [(0, 2), (2, 0), (2, 5), (0, 1)] {
        for loops_after in [1, 3] {
            let message = panic_message(|| {
                hive.spmd(2, |bee| {
                    let own_call = CALLS[if bee.is_queen() { of_queen } else { of_worker }];
                    let _caught = catch_unwind(AssertUnwindSafe(|| own_call(bee)));
                    (0..loops_after).for_each(|_| bee.for_range((0..100, Schedule::Dynamic(1)), drop));
                });
            });
            assert!(!message.is_empty());
        }
    }
    assert_hive_works(&hive, 2);
}

#[test]
fn another_operation_in_its_place_is_found() {
    let _alone = run_exclusively();
    silence_panics("all bees");
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() == 1 {
                    bee.all_reduce(1, |a, b| a + b);
                } else {
                    bee.for_range((0..50, schedule), drop);
                }
            });
        });
        assert_contains_all(&message, &["for_range", "all_reduce"]);
        // One that is left out altogether.
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                if bee.id() != 1 {
                    bee.for_range((0..50, schedule), drop);
                }
            });
        });
        assert_contains_all(&message, &["will not come to"]);
    }
    assert_hive_works(&hive, 3);
}

#[test]
fn loops_of_two_hives_inside_of_each_other() {
    let _alone = run_exclusively();
    let (outer, inner) = (Hive::new(3).unwrap(), Hive::new(2).unwrap());
    let (outer_runs, inner_runs, nested_runs) = (Runs::new(40), Runs::new(60), Runs::new(10));
    outer.spmd(3, |bee| {
        for schedule in SCHEDULES {
            bee.for_range((0..40, schedule), |range| {
                outer_runs.count(range.clone());
                if range.contains(&7) {
                    // A real team, or this bee alone, if another bee is in that hive: all indices once in any case.
                    inner.spmd(2, |bee| bee.for_range((0..60, schedule), |range| inner_runs.count(range)));
                    // A team of one.
                    outer.spmd(3, |bee| {
                        assert_eq!(bee.bees(), 1);
                        bee.for_range((0..10, schedule), |range| nested_runs.count(range));
                    });
                }
            });
        }
    });
    outer_runs.assert_are(|_| SCHEDULES.len());
    inner_runs.assert_are(|_| SCHEDULES.len());
    nested_runs.assert_are(|_| SCHEDULES.len());
}

#[test]
fn a_panic_in_the_body_ends_the_region_and_nothing_else() {
    let _alone = run_exclusively();
    silence_panics("no honey");
    silence_panics("bee");
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let body = |range: Range<usize>| assert!(!range.contains(&17), "no honey");
        let message = panic_message(|| hive.spmd(3, |bee| bee.for_range((0..50, schedule), body)));
        assert_contains_all(&message, &["no honey"]);
        // Caught inside: the bee goes on without having been at the barrier, and the region cannot succeed.
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                let _caught = catch_unwind(AssertUnwindSafe(|| bee.for_range((0..50, schedule), body)));
                bee.for_range((0..50, schedule), drop);
            });
        });
        assert!(!message.is_empty());
        let runs = Runs::new(50);
        hive.spmd(3, |bee| bee.for_range((0..50, schedule), |range| runs.count(range)));
        runs.assert_are(|_| 1);
    }
}

#[test]
fn in_a_destructor_of_an_unwinding_bee_it_does_not_abort() {
    struct LoopInDrop<'b>(&'b Bee<'b>, Schedule);
    impl Drop for LoopInDrop<'_> {
        fn drop(&mut self) {
            self.0.for_range((0..20, self.1), drop);
        }
    }
    let _alone = run_exclusively();
    silence_panics("no honey");
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let message = panic_message(|| {
            hive.spmd(3, |bee| {
                let _late = LoopInDrop(bee, schedule);
                assert!(bee.id() != 1, "no honey");
            });
        });
        assert_contains_all(&message, &["no honey"]);
    }
    assert_hive_works(&hive, 3);
}

#[test]
fn hives_that_are_resized_meanwhile_run_each_index_once() {
    let _alone = run_exclusively();
    let (hive, done) = (Hive::builder().bees(4).max_bees(9).build().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                hive.resize(1 + round * 5 % 9).unwrap();
                if done.load(Ordering::Relaxed) {
                    break;
                }
                thread::yield_now();
            }
        });
        let regions = if cfg!(debug_assertions) { 70 } else { 3_000 };
        for region in 0..regions {
            let (runs, schedule) = (Runs::new(64), SCHEDULES[region % SCHEDULES.len()]);
            let run = |bee: &Bee<'_>| {
                (0..64).step_by(4).for_each(|k| bee.for_range((k..64, schedule), |range| runs.count(range)))
            };
            if region % 2 == 0 {
                hive.spmd_all(run)
            } else {
                hive.spmd(1 + region % 9, run)
            }
            runs.assert_are(|i| i / 4 + 1);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// What was right before stays right: loops that are made outside, or by one bee for all.
#[test]
fn a_loop_that_a_bee_makes_for_itself_is_found() {
    let _alone = run_exclusively();
    silence_panics("inside of a region");
    silence_panics("bee");
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let runs = Runs::new(30);
        let own = || hive.spmd(3, |bee| bee.for_each(&Loop::new(0..30, schedule), |range| runs.count(range)));
        if matches!(schedule, Schedule::Static | Schedule::StaticChunk(_)) {
            own();
            runs.assert_are(|_| 1);
        } else {
            assert_contains_all(&panic_message(own), &["inside of a region", "for_range"]);
        }
        let (runs, made) = (Runs::new(30), OnceLock::new());
        let outside = Loop::new(0..30, schedule);
        hive.spmd(3, |bee| {
            let inside = Arc::clone(made.get_or_init(|| Arc::new(Loop::new(0..30, schedule))));
            bee.for_each(&inside, |range| runs.count(range));
            bee.for_each(&outside, |range| runs.count(range));
        });
        // In a team of one, and never run.
        hive.spmd(1, |bee| bee.for_each(&Loop::new(0..30, schedule), |range| runs.count(range)));
        hive.spmd(3, |_| drop(Loop::new(0..30, schedule)));
        // By loops that have a region for themselves inside of regions.
        hive.spmd(2, |_| hive.par_for((0..30, schedule), |range, _| runs.count(range)));
        runs.assert_are(|_| 5);
    }
}
