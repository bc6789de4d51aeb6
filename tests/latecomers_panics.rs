//! Panics in the parts of workers that are away, which the leader of their group runs; and calls by which bees would
//! meet, which are refused in any part of a loop.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::held_workers::{BEES, Held, LEN, SCHEDULES, assert_loop_works, hives};
use common::short_loops::short_and_then;
use common::task_helpers::{DropCounter, Payload, assert_hive_and_tasks_work, payload_of};
use common::{assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Loop, Ordered, Reduction, Schedule};

const NAMES: [&str; BEES] = ["bee 0", "bee 1", "bee 2"];

// Panics.

#[test]
fn a_panic_in_a_stood_in_part_reaches_the_caller() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        for schedule in [Schedule::Static, Schedule::StaticChunk(1)] {
            for culprits in [vec![0], vec![1], vec![2], vec![1, 2], vec![0, 2], vec![0, 1, 2]] {
                for held_ids in [vec![1, 2], vec![1], vec![2]] {
                    let (drops, runs) = (AtomicUsize::new(0), [const { AtomicUsize::new(0) }; BEES]);
                    let held = Held::workers(&hive, held_ids);
                    let captured = DropCounter(&drops);
                    let payload = payload_of(|| {
                        hive.par_for((0..BEES, schedule), {
                            let (culprits, runs) = (&culprits, &runs);
                            move |_, bee| {
                                let _captured = &captured;
                                runs[bee.id()].fetch_add(1, Ordering::Relaxed);
                                if culprits.contains(&bee.id()) {
                                    panic_any(Payload(NAMES[bee.id()]));
                                }
                            }
                        });
                    });
                    held.assert_held();
                    assert_eq!(payload, NAMES[culprits[0]], "{culprits:?}");
                    assert_eq!(drops.into_inner(), 1);
                    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{runs:?}");
                    assert_loop_works(&hive, Schedule::Dynamic(1));
                    drop(held);
                    assert_hive_works(&hive, BEES);
                }
            }
        }
    }
}

#[test]
fn a_panic_that_a_stood_in_part_catches_is_no_panic_of_the_loop() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let (held, caught) = (Held::all(&hive), AtomicUsize::new(0));
        hive.par_for(0..BEES, |_, _| {
            if catch_unwind(|| resume_unwind(Box::new(1))).is_err() {
                caught.fetch_add(1, Ordering::Relaxed);
            }
        });
        held.assert_held();
        assert_eq!(caught.into_inner(), BEES);
    }
}

#[test]
fn what_a_loop_that_panics_has_made_is_dropped_once() {
    struct Counted<'c>(usize, &'c [AtomicUsize]);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            if self.0 < LEN {
                self.1[self.0].fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        for culprit in [0, 50, 99] {
            let drops = [const { AtomicUsize::new(0) }; LEN];
            let held = Held::all(&hive);
            let mut values: Vec<_> = (0..BEES).map(|_| Mutex::new(Vec::new())).collect();
            let payload = payload_of(|| {
                hive.par_for(0..LEN, |range, bee| {
                    for index in range {
                        values[bee.id()].lock().unwrap_or_else(|e| e.into_inner()).push(Counted(index, &drops));
                        if index == culprit {
                            panic_any(Payload("culprit"));
                        }
                    }
                });
            });
            held.assert_held();
            assert_eq!(payload, "culprit");
            let made: usize =
                values.iter_mut().map(|values| values.get_mut().unwrap_or_else(|e| e.into_inner()).len()).sum();
            drop(values);
            let dropped: Vec<_> = drops.iter().map(|drops| drops.load(Ordering::Relaxed)).collect();
            assert!(dropped.iter().all(|&drops| drops <= 1) && dropped.iter().sum::<usize>() == made, "{dropped:?}");
        }
    }
}

#[test]
fn each_partial_result_of_a_reduction_is_dropped_once() {
    #[derive(Debug)]
    struct Live(Arc<AtomicUsize>, usize);
    impl Clone for Live {
        fn clone(&self) -> Self {
            self.0.fetch_add(1, Ordering::Relaxed);
            Self(Arc::clone(&self.0), self.1)
        }
    }
    impl Drop for Live {
        fn drop(&mut self) {
            assert!(self.0.fetch_sub(1, Ordering::Relaxed) < usize::MAX / 2, "dropped twice");
        }
    }
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        for schedule in SCHEDULES {
            for culprit in [None, Some(0), Some(50), Some(99)] {
                let live = Arc::new(AtomicUsize::new(0));
                let new = |value| {
                    live.fetch_add(1, Ordering::Relaxed);
                    Live(Arc::clone(&live), value)
                };
                let held = Held::all(&hive);
                let sum = Reduction::deterministic(new(0), |mut a: Live, b: Live| {
                    a.1 += b.1;
                    a
                });
                let run = || {
                    hive.par_reduce((0..LEN, schedule), &sum, |range| {
                        if culprit.is_some_and(|culprit| range.contains(&culprit)) {
                            panic_any(Payload("culprit"));
                        }
                        new(range.sum())
                    })
                };
                match culprit {
                    None => assert_eq!(run().1, LEN * (LEN - 1) / 2),
                    Some(_) => assert_eq!(payload_of(|| drop(run())), "culprit"),
                }
                held.assert_held();
                drop(sum);
                assert_eq!(live.load(Ordering::Relaxed), 0, "{schedule:?}, {culprit:?}");
            }
        }
    }
}

// Calls by which bees meet.

#[test]
fn bees_do_not_meet_in_a_loop_whoever_runs_its_parts() {
    let _alone = run_exclusively();
    silence_panics("in a loop that is a region of its own");
    let order = Ordered::new(0..1);
    type Operation<'o> = &'o (dyn Fn(&Bee<'_>) + Sync);
    let operations: [(&str, Operation<'_>); 6] = [
        ("barrier", &|bee| bee.barrier()),
        ("all_reduce", &|bee| _ = bee.all_reduce(bee.id(), |a, b| a + b)),
        ("single", &|bee| bee.single(|| ())),
        ("for_range", &|bee| bee.for_range(0..LEN, |_| ())),
        ("for_each", &|bee| bee.for_each(&Loop::new(0..LEN, Schedule::Static), |_| ())),
        ("ordered", &|bee| bee.ordered(&order, 0, || ())),
    ];
    for hive in hives() {
        for held_ids in [&[][..], &[2], &[1, 2]] {
            for ((name, operation), culprit) in operations.iter().zip((0..BEES).cycle()) {
                let held = Held::workers(&hive, held_ids.iter().copied());
                let message = panic_message(|| {
                    hive.par_for(0..BEES, |_, bee| {
                        if bee.id() == culprit {
                            operation(bee);
                        }
                    });
                });
                held.assert_held();
                drop(held);
                let expected = format!("bee {culprit} of {BEES} calls {name} in a loop that is a region of its own");
                assert_contains_all(&message, &[&expected]);
                assert_hive_and_tasks_work(&hive, BEES);
            }
        }
    }
}

/// Calls whatever bees meet by.
struct MeetOnDrop<'b>(&'b Bee<'b>, &'b Ordered);

impl Drop for MeetOnDrop<'_> {
    fn drop(&mut self) {
        let Self(bee, order) = *self;
        bee.barrier();
        _ = bee.all_reduce(1, |a, b| a + b);
        _ = bee.all_reduce_cloned(vec![1], |a, b| [a, b].concat());
        _ = bee.broadcast_from(0, || 1);
        bee.single(|| ());
        bee.for_range(0..LEN, |_| ());
        bee.ordered(order, LEN - 1, || ());
    }
}

/// In a part that another thread runs, in one that the queen runs because the loop is short, or after it has turned out
/// to be long. None of these calls may leave an arrival behind: the barriers of the next region would be passed alone.
#[test]
fn calls_by_which_bees_meet_do_nothing_in_a_destructor_of_a_part() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let order = Ordered::new(0..LEN);
    for hive in hives() {
        for is_held in [true, false] {
            for (first, millis) in (0..BEES).flat_map(|first| [(first, 0), (first, 5)]) {
                let run = |it_panics, times| {
                    let part = |bee: &Bee<'_>| {
                        thread::sleep(Duration::from_millis(millis));
                        if bee.id() >= first {
                            let _meet = MeetOnDrop(bee, &order);
                            panic_any(Payload(NAMES[bee.id()]));
                        }
                    };
                    let run = || {
                        hive.par_for(0..BEES * times, |_, bee| {
                            if it_panics {
                                part(bee)
                            }
                        })
                    };
                    if it_panics { assert_eq!(payload_of(run), NAMES[first]) } else { run() }
                };
                if is_held {
                    let held = Held::all(&hive);
                    run(true, 1);
                    held.assert_held();
                } else {
                    short_and_then(&hive, run);
                }
                let arrived = AtomicUsize::new(0);
                for round in 1..=20 {
                    hive.spmd(BEES, |bee| {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        bee.barrier();
                        assert_eq!(arrived.load(Ordering::Relaxed), round * BEES);
                    });
                }
                assert_hive_and_tasks_work(&hive, BEES);
            }
        }
    }
}

/// A region of one bee is a region of its own, but in a part of a loop its bee cannot wait for the others' turns.
#[test]
fn a_region_inside_a_part_does_not_wait_for_the_turns_of_other_parts() {
    let _alone = run_exclusively();
    silence_panics("in a loop that is a region of its own");
    for hive in hives() {
        let order = Ordered::new(0..LEN);
        let wait = || hive.par_for(0..BEES, |range, _| hive.spmd(1, |bee| bee.ordered(&order, range.start + 1, || ())));
        assert_contains_all(&panic_message(wait), &["bee 0 of 1 calls ordered in a loop"]);
        assert_hive_and_tasks_work(&hive, BEES);
    }
}
