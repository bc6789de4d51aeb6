//! Loops of teams of several groups, on machines that hwloc makes up, while leaders and other workers are away.

#![cfg(all(target_os = "linux", feature = "hwloc"))]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self};
use std::time::Duration;

use common::Rng;
use common::held_workers::{Held, LEN, Record, SCHEDULES, assert_all_take_part, assert_covers, assert_loop_works};
use common::process::in_own_process_with;
use common::task_helpers::assert_hive_and_tasks_work;
use hive::{BarrierShape, Hive, Pin, PlaceList, ProcBind, Schedule};

/// Two nodes of two clusters of two cores.
const NODES: &str = "pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1";
/// The queen's cluster has one core, and the next has three.
const UNEVEN: &str = "pack:2 [numa(memory=1GB)] l3:1 core:3 pu:1";

fn with_hives(test: &str, part: impl Fn(&Hive)) {
    with_machine(test, NODES, 8, part);
}

fn with_machine(test: &str, machine: &str, bees: usize, part: impl Fn(&Hive)) {
    in_own_process_with(test, &[("HWLOC_SYNTHETIC", machine), ("HWLOC_THISSYSTEM", "0")], || {
        for shape in [BarrierShape::Flat, BarrierShape::Cluster, BarrierShape::Node] {
            for spin in [Duration::ZERO, Duration::from_micros(100)] {
                let hive = Hive::builder().bees(bees).pin(Pin::Core).barrier(shape).spin(spin).build().unwrap();
                part(&hive);
                assert_hive_and_tasks_work(&hive, bees);
            }
        }
    });
}

/// All workers, the leaders alone, the bees that each of them leads, and mixtures.
const HELD: [&[usize]; 10] =
    [&[1], &[2], &[3], &[4], &[6], &[2, 4, 6], &[1, 3, 5, 7], &[4, 5, 6, 7], &[5, 7], &[1, 2, 3, 4, 5, 6, 7]];

fn check_held(hive: &Hive, bees: usize) {
    let owners = hive.spmd_map(bees, |bee| bee.split(0..LEN));
    for held_ids in HELD {
        for schedule in SCHEDULES {
            let held = Held::workers(hive, held_ids.iter().copied().filter(|&id| id < bees));
            let record = Record::default();
            hive.par_for((0..LEN, schedule), |range, bee| record.add(range, bee));
            held.assert_held();
            let ranges = record.into_sorted();
            assert_covers(&ranges, 0..LEN);
            if let Schedule::Static = schedule {
                assert!(ranges.iter().all(|(range, id, _)| owners[*id] == *range), "{ranges:?}");
            }
            drop(held);
            assert_loop_works(hive, schedule);
        }
        assert_all_take_part(hive, bees);
    }
}

#[test]
fn loops_in_groups_do_not_wait_for_held_workers() {
    with_hives("loops_in_groups_do_not_wait_for_held_workers", |hive| check_held(hive, 8));
}

#[test]
fn loops_in_uneven_groups_do_not_wait_for_held_workers() {
    let test = "loops_in_uneven_groups_do_not_wait_for_held_workers";
    with_machine(test, UNEVEN, 6, |hive| check_held(hive, 6));
}

#[test]
fn panics_in_groups_reach_the_caller() {
    with_hives("panics_in_groups_reach_the_caller", |hive| {
        for held_ids in HELD {
            for culprit in 0..8 {
                let held = Held::workers(hive, held_ids.iter().copied());
                let runs = [const { AtomicUsize::new(0) }; 8];
                let panic = catch_unwind(AssertUnwindSafe(|| {
                    hive.par_for(0..8, |_, bee| {
                        runs[bee.id()].fetch_add(1, Ordering::Relaxed);
                        if bee.id() == culprit {
                            resume_unwind(Box::new(culprit));
                        }
                    });
                }));
                held.assert_held();
                assert_eq!(panic.unwrap_err().downcast_ref(), Some(&culprit));
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{runs:?}");
            }
        }
    });
}

/// The bees with odd ids are on another node than the queen, and bee 1 leads them in two levels of groups.
#[test]
fn the_parts_of_a_held_leader_and_of_its_groups_are_run() {
    let test = "the_parts_of_a_held_leader_and_of_its_groups_are_run";
    in_own_process_with(test, &[("HWLOC_SYNTHETIC", NODES), ("HWLOC_THISSYSTEM", "0")], || {
        for shape in [BarrierShape::Cluster, BarrierShape::Node] {
            let places = PlaceList::Listed([0, 4, 2, 6, 1, 5, 3, 7].map(|cpu| vec![cpu]).to_vec());
            let builder = Hive::builder().bees(8).places(places).proc_bind(ProcBind::Close);
            let hive = builder.barrier(shape).spin(Duration::ZERO).build().unwrap();
            let runs = [const { AtomicUsize::new(0) }; 8];
            let held = Held::workers(&hive, [1]);
            hive.par_for(0..8, |_, bee| _ = runs[bee.id()].fetch_add(1, Ordering::Relaxed));
            held.assert_held();
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{runs:?}");
        }
    });
}

#[test]
fn regions_of_groups_that_are_no_loops_wait() {
    with_hives("regions_of_groups_that_are_no_loops_wait", |hive| {
        for held_ids in HELD {
            let threads = hive.spmd_map(8, |_| thread::current().id());
            let held = Held::workers(hive, held_ids.iter().copied());
            let (release, count) = (Arc::clone(&held.release), held.count);
            hive.spmd(8, |bee| {
                assert_eq!(thread::current().id(), threads[bee.id()]);
                if bee.is_queen() {
                    release.give();
                }
            });
            assert_eq!(held.left.arrived(), count);
        }
    });
}

#[test]
fn teams_of_groups_are_complete_after_resizes_and_sleeps() {
    with_hives("teams_of_groups_are_complete_after_resizes_and_sleeps", |hive| {
        let mut rng = Rng::new(5);
        for _ in 0..100 {
            let held_id = rng.next_up_to(7);
            let held = Held::workers(hive, [held_id]);
            hive.resize(rng.next_up_to(8)).unwrap();
            assert_loop_works(hive, SCHEDULES[rng.next_up_to(8) - 1]);
            hive.resize(rng.next_up_to(8)).unwrap();
            assert_loop_works(hive, SCHEDULES[rng.next_up_to(8) - 1]);
            drop(held);
            if rng.next_up_to(3) == 1 {
                hive.wait_until_parked();
            }
            hive.resize(8).unwrap();
            assert_loop_works(hive, Schedule::Static);
            assert_all_take_part(hive, 8);
        }
    });
}
