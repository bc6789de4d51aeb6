//! Loops: each index is run once, whatever the schedule, the range and the team.
//!
//! See `docs/loops.md`.

#![cfg(target_os = "linux")]

mod common;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Gate, Rng, assert_contains_all, panic_message, run_exclusively, silence_panics, wait_until};
use hive::{Hive, Loop, Schedule, Tiles};
use proptest::prelude::*;

const SCHEDULES: [Schedule; 8] = [
    Schedule::Static,
    Schedule::StaticChunk(3),
    Schedule::Dynamic(1),
    Schedule::Dynamic(7),
    Schedule::Guided(1),
    Schedule::Guided(5),
    Schedule::Factoring,
    Schedule::Affinity,
];

/// The ranges that the bees got, each bee's in the order in which it got them.
fn ranges_by_bee(hive: &Hive, bees: usize, shared: &Loop) -> Vec<Vec<Range<usize>>> {
    hive.spmd_map(bees, |bee| {
        let mut ranges = Vec::new();
        bee.for_each(shared, |range| ranges.push(range));
        ranges
    })
}

/// Checks that each index of `range` is in exactly one of `ranges`, and that none of these is empty.
#[track_caller]
fn assert_covers(mut ranges: Vec<Range<usize>>, range: Range<usize>, what: &str) {
    ranges.sort_by_key(|range| range.start);
    let mut end = range.start;
    for part in ranges {
        assert!(part.start == end && part.end > end, "{what}: {part:?} comes after {end}");
        end = part.end;
    }
    assert_eq!(end, range.end.max(range.start), "{what}");
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let chunk = || prop_oneof![1usize..40, Just(usize::MAX), Just(1 << 40)];
    prop_oneof![
        Just(Schedule::Static),
        chunk().prop_map(Schedule::StaticChunk),
        chunk().prop_map(Schedule::Dynamic),
        chunk().prop_map(Schedule::Guided),
        Just(Schedule::Factoring),
        Just(Schedule::Affinity),
    ]
}

fn ranges() -> impl Strategy<Value = Range<usize>> {
    let start = prop_oneof![0usize..100, Just(usize::MAX - 2000)];
    (start, 0usize..2000).prop_map(|(start, length)| start..start + length)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_index_comes_once(
        range in ranges(),
        schedule in schedules(),
        bees in 1usize..=5,
        multiple in 1usize..20,
        min_work in 0usize..500,
    ) {
        let _alone = run_exclusively();
        let shared = Loop::new(range.clone(), schedule).aligned(multiple).min_work(min_work);
        let dealt = ranges_by_bee(hive::global(), bees, &shared).concat();
        prop_assert!(dealt.iter().all(|part| part.start == range.start || part.start % multiple == 0), "{:?}", dealt);
        assert_covers(dealt, range, &format!("{shared:?} of {bees}"));
    }
}

#[test]
fn the_longest_ranges_are_dealt_out() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let range = 0..usize::MAX;
    for schedule in [
        Schedule::Static,
        Schedule::StaticChunk(1 << 60),
        Schedule::Dynamic(1 << 60),
        Schedule::Affinity,
        Schedule::Guided(1),
        Schedule::Factoring,
    ] {
        for multiple in [1, 64] {
            let shared = Loop::new(range.clone(), schedule).aligned(multiple);
            assert_covers(ranges_by_bee(&hive, 3, &shared).concat(), range.clone(), &format!("{shared:?}"));
        }
    }
}

#[test]
fn more_chunks_than_can_be_numbered_are_dealt_out_one_by_one() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let len = (1 << 25) + 3;
    let (chunks, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    hive.spmd(2, |bee| bee.barrier());
    hive.par_for((0..len, Schedule::Dynamic(2)), |range, _| {
        assert!(range.len() <= 2);
        chunks.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(range.len(), Ordering::Relaxed);
    });
    assert_eq!((chunks.into_inner(), sum.into_inner()), (len.div_ceil(2), len));
}

#[test]
fn fewer_chunks_than_bees_are_dealt_out_once() {
    let _alone = run_exclusively();
    let hive = Hive::new(5).unwrap();
    for turn in 0..if cfg!(debug_assertions) { 1_000 } else { 10_000 } {
        for schedule in [Schedule::Dynamic(100), Schedule::Affinity, Schedule::Guided(100)] {
            let dealt = ranges_by_bee(&hive, 5, &Loop::new(0..1 + turn % 3, schedule)).concat();
            assert_covers(dealt, 0..1 + turn % 3, &format!("{schedule:?}, turn {turn}"));
        }
    }
}

#[test]
fn static_chunks_go_round() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let dealt = ranges_by_bee(&hive, 3, &Loop::new(0..10, Schedule::StaticChunk(2)));
    assert_eq!(dealt, [vec![0..2, 6..8], vec![2..4, 8..10], std::iter::once(4..6).collect()]);
    let blocks = ranges_by_bee(&hive, 3, &Loop::new(0..10, Schedule::Static)).concat();
    assert_eq!(blocks, [0..4, 4..7, 7..10]);
}

#[test]
fn a_loop_is_run_again_and_again_without_a_barrier_between() {
    let _alone = run_exclusively();
    let rounds = if cfg!(debug_assertions) { 300 } else { 3_000 };
    for bees in [2, 3, 6] {
        let hive = Hive::new(bees).unwrap();
        for schedule in SCHEDULES {
            let shared = Loop::new(0..97, schedule);
            let counts: Vec<_> = (0..97).map(|_| AtomicUsize::new(0)).collect();
            // Three regions of several rounds each.
            for _ in 0..3 {
                hive.spmd(bees, |bee| {
                    for _ in 0..rounds {
                        bee.for_each(&shared, |range| {
                            range.for_each(|i| {
                                counts[i].fetch_add(1, Ordering::Relaxed);
                            })
                        });
                    }
                });
            }
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 3 * rounds), "{schedule:?}: {counts:?}");
        }
    }
}

#[test]
fn a_bee_may_be_thousands_of_rounds_late() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let rounds = 10_000;
    for schedule in [Schedule::Dynamic(1), Schedule::Guided(1), Schedule::Affinity] {
        let (shared, sum) = (Loop::new(0..3, schedule), AtomicUsize::new(0));
        hive.spmd(2, |bee| {
            if bee.id() == 1 {
                thread::sleep(Duration::from_millis(5));
            }
            for _ in 0..rounds {
                bee.for_each(&shared, |range| {
                    sum.fetch_add(range.len(), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(sum.into_inner(), 3 * rounds, "{schedule:?}");
    }
}

#[test]
fn whoever_is_done_takes_from_others() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    for schedule in [Schedule::Dynamic(1), Schedule::Affinity, Schedule::Guided(1), Schedule::Factoring] {
        let (shared, done) = (Loop::new(0..1000, schedule), AtomicUsize::new(0));
        let mine = hive.spmd_map(2, |bee| {
            let mut mine = 0;
            bee.for_each(&shared, |range| {
                mine += range.len();
                done.fetch_add(range.len(), Ordering::Relaxed);
                if range.contains(&0) {
                    // The bee with the first index waits until the other bee has run all that it can get.
                    wait_until(|| done.load(Ordering::Relaxed) >= 1000 - 250);
                }
            });
            mine
        });
        let least = mine.into_iter().min().unwrap();
        assert!(least <= 500, "{schedule:?}: {least}");
    }
}

#[test]
fn a_batch_of_short_chunks_is_given_back_when_one_turns_out_long() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let len = 200_000;
    let (shared, late, done) = (Loop::new(0..len, Schedule::Dynamic(1)), len / 4, AtomicUsize::new(0));
    let after = hive.spmd_map(2, |bee| {
        let (mut held, mut after) = (false, 0);
        bee.for_each(&shared, |range| {
            after += usize::from(held);
            if range.start == late {
                // All indices except those of the same batch are run by the other bee meanwhile.
                wait_until(|| done.load(Ordering::Relaxed) > len * 9 / 10);
                held = true;
            }
            done.fetch_add(1, Ordering::Relaxed);
        });
        after
    });
    assert_eq!(done.into_inner(), len);
    // The rest of the batch is at most a fraction of what there was when the batch was claimed.
    assert!(after.iter().all(|after| *after <= len / 10), "{after:?}");
}

#[test]
fn little_work_is_for_few() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    for schedule in SCHEDULES {
        let with = |len| {
            let teams = Mutex::new(Vec::new());
            hive.par_for(Loop::new(0..len, schedule).min_work(100), |_, bee| teams.lock().unwrap().push(bee.bees()));
            teams.into_inner().unwrap()
        };
        assert!(with(199).iter().all(|team| *team == 1), "{schedule:?}");
        assert!(with(200).iter().all(|team| *team == 2), "{schedule:?}");
        assert!(with(100_000).iter().all(|team| *team == 4), "{schedule:?}");
        let in_a_region = ranges_by_bee(&hive, 4, &Loop::new(0..200, schedule).min_work(100));
        assert!(in_a_region[2].is_empty() && in_a_region[3].is_empty(), "{schedule:?}: {in_a_region:?}");
        assert_covers(in_a_region.concat(), 0..200, "in a region");
    }
}

#[test]
fn a_nested_loop_is_the_bee_s_own() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let sum = AtomicUsize::new(0);
    hive.spmd(3, |_| {
        hive.par_for((0..100, Schedule::Dynamic(1)), |range, bee| {
            assert_eq!(bee.bees(), 1);
            sum.fetch_add(range.sum(), Ordering::Relaxed);
        })
    });
    assert_eq!(sum.into_inner(), 3 * 4950);
}

#[test]
fn loops_of_all_kinds_follow_one_another() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let mut dice = Rng::new(1);
    for turn in 0..if cfg!(debug_assertions) { 2_000 } else { 100_000 } {
        let (len, schedule) = (dice.next_up_to(9) - 1, SCHEDULES[dice.next_up_to(SCHEDULES.len()) - 1]);
        let sum = AtomicUsize::new(0);
        let add = |range: Range<usize>| {
            sum.fetch_add(range.len(), Ordering::Relaxed);
        };
        if turn % 7 == 0 {
            // Nested, or with a panic: neither may affect the next loop.
            hive.spmd(2, |bee| {
                if bee.is_queen() {
                    hive.par_for((0..len, schedule), |range, _| add(range))
                }
            });
        } else {
            hive.par_for((0..len, schedule), |range, _| add(range));
        }
        assert_eq!(sum.into_inner(), len, "turn {turn}: {schedule:?}");
        if turn % 50 == 0 {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                hive.par_for((0..9, schedule), |_, _| std::panic::resume_unwind(Box::new(turn)));
            }));
            assert!(caught.is_err());
        }
    }
}

#[test]
fn a_kind_that_was_not_used_for_long_is_as_good_as_new() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let run = |schedule| {
        let sum = AtomicUsize::new(0);
        hive.par_for((0..5, schedule), |range, _| {
            sum.fetch_add(range.len(), Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 5, "{schedule:?}");
    };
    run(Schedule::Guided(1));
    (0..40_000).for_each(|_| run(Schedule::Dynamic(1)));
    run(Schedule::Guided(1));
    (0..40_000).for_each(|_| run(Schedule::Factoring));
    run(Schedule::Affinity);
}

#[test]
fn a_panic_in_a_loop_reaches_the_caller_and_the_hive_lives_on() {
    let _alone = run_exclusively();
    silence_panics("index 17 is broken");
    let hive = Hive::new(3).unwrap();
    for schedule in SCHEDULES {
        let message = panic_message(|| {
            hive.par_for((0..100, schedule), |range, bee| {
                assert!(!range.contains(&17), "index 17 is broken");
                bee.unpinned(|| ());
            });
        });
        assert_contains_all(&message, &["index 17 is broken"]);
        let shared = Loop::new(0..100, schedule);
        assert_covers(ranges_by_bee(&hive, 3, &shared).concat(), 0..100, "afterwards");
    }
}

#[test]
fn a_spare_board_whose_rounds_have_wrapped_is_not_taken_for_used() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let run = || {
        let done = AtomicUsize::new(0);
        hive.par_for((0..4, Schedule::Dynamic(1)), |range, _| _ = done.fetch_add(range.len(), Ordering::Relaxed));
        assert_eq!(done.into_inner(), 4);
    };
    (0..u16::MAX).for_each(|_| run());
    // Inside a region this is a region of one bee, which needs no loop state: round 0 is not run.
    hive.spmd(2, |bee| {
        if bee.is_queen() {
            run();
        }
    });
    run();
}

#[test]
fn nobody_waits_for_another_round_s_batch() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let (shared, in_batch, is_next) = (Loop::new(0..100_000, Schedule::Dynamic(1)), Gate::new(), Gate::new());
    hive.spmd(2, |bee| {
        // The queen's first index keeps her in this round until the other bee is in the middle of the next.
        bee.for_each(&shared, |range| {
            if range.start == 0 {
                in_batch.wait_for(1);
            }
        });
        if bee.is_queen() {
            is_next.arrive();
        }
        bee.for_each(&shared, |range| {
            if range.start == 60_000 {
                in_batch.arrive();
                is_next.wait_for(1);
            }
        });
    });
}

#[test]
fn a_loop_goes_on_in_another_hive_after_a_panic() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for schedule in [Schedule::Dynamic(1), Schedule::Affinity, Schedule::Guided(1)] {
        for _ in 0..20 {
            let shared = Loop::new(0..100, schedule);
            panic_message(|| Hive::new(2).unwrap().spmd(2, |bee| bee.for_each(&shared, |_| panic!("as expected"))));
            // A new hive, which may lie where the dropped one was in memory.
            assert_covers(ranges_by_bee(&Hive::new(2).unwrap(), 2, &shared).concat(), 0..100, &format!("{schedule:?}"));
        }
    }
}

#[test]
fn bad_loops_are_refused_with_what_is_wrong() {
    let _alone = run_exclusively();
    silence_panics("");
    assert_contains_all(
        &panic_message(|| drop(Loop::new(0..9, Schedule::Dynamic(0)))),
        &["Dynamic(0)", "at least one index"],
    );
    assert_contains_all(&panic_message(|| drop(Loop::new(0..9, Schedule::Static).aligned(0))), &["multiples of 0"]);
    assert_contains_all(
        &panic_message(|| {
            Tiles::new(0..9, 0..9, [0, 3]);
        }),
        &["0 x 3"],
    );
}

#[test]
fn stress_loops_on_hives_that_are_resized() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(4).max_bees(4).spin(Duration::ZERO).build().unwrap();
    let mut dice = Rng::new(7);
    for turn in 0..if cfg!(debug_assertions) { 300 } else { 2_000 } {
        hive.resize(dice.next_up_to(4)).unwrap();
        let (len, schedule) = (dice.next_up_to(500) - 1, SCHEDULES[dice.next_up_to(SCHEDULES.len()) - 1]);
        let seen: Vec<_> = (0..len).map(|_| AtomicUsize::new(0)).collect();
        hive.par_for((0..len, schedule), |range, _| {
            range.for_each(|i| {
                seen[i].fetch_add(1, Ordering::Relaxed);
            })
        });
        assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1), "turn {turn}: {schedule:?} over {len}");
    }
}
