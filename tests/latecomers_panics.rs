//! Panics, barriers and turns in the parts of workers that are away, which the leader of their group runs.

#![cfg(target_os = "linux")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self};

use common::held_workers::{BEES, Held, LEN, SCHEDULES, assert_loop_works, hives};
use common::process::in_own_process;
use common::task_helpers::{DropCounter, Payload, assert_hive_and_tasks_work, payload_of};
use common::{Gate, assert_contains_all, assert_hive_works, panic_message, run_exclusively, silence_panics};
use hive::{Bee, Hive, Ordered, Reduction, Schedule};

// Panics.

#[test]
fn a_panic_in_a_stood_in_part_reaches_the_caller() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    const NAMES: [&str; BEES] = ["bee 0", "bee 1", "bee 2"];
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

// Barriers and collective operations.

/// Runs `part` on each bee in a loop of one index for each, in which workers are held, and returns the panic's message.
#[track_caller]
fn message_of_loop(hive: &Hive, held_ids: &[usize], part: impl Fn(&Bee<'_>) + Sync) -> String {
    let held = Held::workers(hive, held_ids.iter().copied());
    let message = panic_message(|| hive.par_for(0..BEES, |_, bee| part(bee)));
    held.assert_held();
    drop(held);
    assert_hive_and_tasks_work(hive, BEES);
    message
}

#[test]
fn a_collective_operation_in_a_stood_in_part_is_a_mismatch() {
    let _alone = run_exclusively();
    silence_panics("call barrier() equally often");
    let expected = "call barrier() equally often";
    for hive in hives() {
        for held_ids in [&[1, 2][..], &[2]] {
            let operations: [fn(&Bee<'_>); 5] = [
                |bee| bee.barrier(),
                |bee| _ = bee.all_reduce(bee.id(), |a, b| a + b),
                |bee| _ = bee.single(|| 1),
                |bee| _ = bee.broadcast_from(2, || 1),
                |bee| _ = bee.scan_inclusive(1, |a, b| a + b),
            ];
            for operation in operations {
                // The queen's own part ends without it.
                let message = message_of_loop(&hive, held_ids, |bee| {
                    if bee.id() > 0 {
                        operation(bee);
                    }
                });
                assert_contains_all(&message, &[expected]);
                // Only one of them calls it.
                let message = message_of_loop(&hive, held_ids, |bee| {
                    if bee.id() == 2 {
                        operation(bee);
                    }
                });
                assert_contains_all(&message, &[expected]);
            }
        }
    }
}

/// The barrier in the queen's own part waits for a worker that is away, as in other regions.
#[test]
fn a_barrier_in_all_parts_waits_for_workers_that_are_away() {
    let _alone = run_exclusively();
    for hive in hives() {
        let held = Held::all(&hive);
        let (release, meetings) = (Arc::clone(&held.release), AtomicUsize::new(0));
        hive.par_for(0..BEES, |_, bee| {
            if bee.is_queen() {
                release.give();
            }
            for round in 1..=3 {
                meetings.fetch_add(1, Ordering::Relaxed);
                bee.barrier();
                assert_eq!(meetings.load(Ordering::Relaxed), round * BEES);
                bee.barrier();
            }
        });
        drop(held);
        for _ in 0..20 {
            hive.par_for(0..BEES, |_, bee| _ = bee.all_reduce(1, |a, b| a + b));
        }
    }
}

/// All bees call the barrier, so there is no mismatch: bee 2 panics, and that is the panic of the loop.
#[test]
fn the_panic_that_breaks_a_barrier_is_not_hidden_by_a_stood_in_part_that_comes_to_it() {
    let _alone = run_exclusively();
    silence_panics("call barrier() equally often");
    for hive in hives() {
        let held = Held::workers(&hive, [1]);
        let payload = catch_unwind(AssertUnwindSafe(|| {
            hive.par_for(0..BEES, |_, bee| {
                if bee.id() == 2 {
                    panic_any(Payload("bee 2"));
                }
                bee.barrier();
            });
        }))
        .unwrap_err();
        held.assert_held();
        match payload.downcast::<Payload>() {
            Ok(payload) => assert_eq!(payload.0, "bee 2"),
            Err(other) => panic!("the loop has panicked with {:?}", other.downcast_ref::<String>()),
        }
    }
}

#[test]
fn a_barrier_in_a_destructor_of_a_stood_in_part_does_not_abort() {
    struct MeetOnDrop<'b>(&'b Bee<'b>);
    impl Drop for MeetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.barrier();
            _ = self.0.all_reduce(1, |a, b| a + b);
        }
    }
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let held = Held::all(&hive);
        let payload = payload_of(|| {
            hive.par_for(0..BEES, |_, bee| {
                if bee.id() > 0 {
                    let _meet = MeetOnDrop(bee);
                    panic_any(Payload(if bee.id() == 1 { "bee 1" } else { "bee 2" }));
                }
            });
        });
        held.assert_held();
        assert_eq!(payload, "bee 1");
        drop(held);
        assert_hive_and_tasks_work(&hive, BEES);
    }
}

#[test]
fn ordered_work_in_a_static_loop_comes_in_order() {
    let _alone = run_exclusively();
    for hive in hives() {
        for held_ids in [vec![1, 2], vec![1], vec![2]] {
            let (order, log) = (Ordered::new(0..LEN), Mutex::new(Vec::new()));
            let held = Held::workers(&hive, held_ids);
            hive.par_for(0..LEN, |range, bee| {
                range.for_each(|index| bee.ordered(&order, index, || log.lock().unwrap().push(index)));
            });
            held.assert_held();
            assert!(log.into_inner().unwrap().into_iter().eq(0..LEN));
        }
    }
}

#[test]
fn a_turn_that_never_comes_is_reported_in_a_stood_in_part() {
    let _alone = run_exclusively();
    silence_panics("which nobody will bring");
    for hive in hives() {
        for waiting in [&[1][..], &[2], &[1, 2]] {
            for held_ids in [&[1][..], &[2], &[1, 2]] {
                let order = Ordered::new(0..LEN);
                // Of the bees that wait, nobody has the first index.
                let wait = |bee: &Bee<'_>| {
                    if waiting.contains(&bee.id()) {
                        bee.ordered(&order, 10 + bee.id(), || ());
                    }
                };
                let run = || panic_message(|| hive.par_for(0..BEES, |_, bee| wait(bee)));
                let held = Held::workers(&hive, held_ids.iter().copied());
                // While bee 1 is stood in for and waits, bee 2 may still come from its task, and bring the turn.
                let message = if held_ids.contains(&2) && waiting.contains(&1) {
                    thread::scope(|scope| {
                        let caller = scope.spawn(run);
                        drop(held);
                        caller.join().unwrap()
                    })
                } else {
                    let message = run();
                    held.assert_held();
                    drop(held);
                    message
                };
                assert_contains_all(&message, &["which nobody will bring"]);
                assert_hive_and_tasks_work(&hive, BEES);
            }
        }
    }
}

/// Bee 1 waits at a barrier to which the queen, whose part has ended, does not come. She stands in for bee 2, which
/// waits for the turn of bee 1.
#[test]
fn a_barrier_left_out_is_found_while_a_stood_in_part_waits_for_its_turn() {
    in_own_process("a_barrier_left_out_is_found_while_a_stood_in_part_waits_for_its_turn", || {
        silence_panics("call barrier() equally often");
        let (hive, order) = (Hive::new(BEES).unwrap(), Ordered::new(0..2));
        let held = Held::workers(&hive, [2]);
        let (is_there, stood_in) = (Gate::new(), Gate::new());
        let message = panic_message(|| {
            hive.par_for(0..BEES, |_, bee| match bee.id() {
                // Bee 1 is there, so nobody stands in for it.
                0 => is_there.wait_for(1),
                1 => {
                    is_there.arrive();
                    stood_in.wait_for(1);
                    bee.barrier();
                }
                _ => {
                    stood_in.arrive();
                    bee.ordered(&order, 1, || ());
                }
            });
        });
        held.assert_held();
        assert_contains_all(&message, &["call barrier() equally often"]);
    });
}
