//! Teams of several groups, on machines that hwloc makes up: regions, barriers, panics and resizes work as in one
//! group.
//!
//! See `docs/shape.md`.

#![cfg(all(target_os = "linux", feature = "hwloc"))]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use common::process::in_own_process_with;
use common::{assert_contains_all, assert_hive_works};
use hive::{BarrierShape, Hive, Pin};

/// Two nodes of two clusters of two cores. There may be more bees than real CPUs, so bees poll only briefly.
const NODES: &str = "pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1";

/// As many nodes as bees, so that the queen leads all groups.
const APART: &str = "pack:4 [numa(memory=1GB)] l3:1 core:1 pu:1";

/// The queen's cluster has one core, and the next has three.
const UNEVEN: &str = "pack:2 [numa(memory=1GB)] l3:1 core:3 pu:1";

fn hive(shape: BarrierShape, bees: usize) -> Hive {
    Hive::builder().bees(bees).pin(Pin::Core).barrier(shape).spin(Duration::ZERO).build().unwrap()
}

/// Runs `part` for each shape on the given machine, in a process of its own.
fn with_shapes(test: &str, machine: &str, part: impl Fn(BarrierShape)) {
    in_own_process_with(test, &[("HWLOC_SYNTHETIC", machine), ("HWLOC_THISSYSTEM", "0")], || {
        for shape in [BarrierShape::Flat, BarrierShape::Cluster, BarrierShape::Node] {
            part(shape);
        }
    });
}

#[test]
fn teams_of_all_sizes_start_and_meet() {
    with_shapes("teams_of_all_sizes_start_and_meet", NODES, |shape| {
        let hive = hive(shape, 8);
        for _ in 0..3 {
            (1..=8).chain([2, 8, 5]).for_each(|team| assert_hive_works(&hive, team));
        }
    });
}

#[test]
fn bees_apart_and_bees_bound_nowhere() {
    with_shapes("bees_apart_and_bees_bound_nowhere", APART, |shape| {
        // Four bees have a node each, and the others share CPUs with them.
        let hive = hive(shape, 7);
        [4, 7, 1, 3, 7].into_iter().for_each(|team| assert_hive_works(&hive, team));
    });
}

#[test]
fn a_panic_reaches_the_caller_whoever_throws() {
    with_shapes("a_panic_reaches_the_caller_whoever_throws", NODES, |shape| {
        let hive = hive(shape, 8);
        for culprit in 0..8 {
            let thrown = catch_unwind(AssertUnwindSafe(|| {
                hive.spmd(8, |bee| {
                    bee.barrier();
                    if bee.id() == culprit {
                        std::panic::resume_unwind(Box::new(culprit));
                    }
                    bee.barrier();
                });
            }));
            assert_eq!(thrown.unwrap_err().downcast_ref(), Some(&culprit));
            assert_hive_works(&hive, 8);
        }
    });
}

#[test]
fn a_barrier_left_out_is_a_panic_whoever_leaves_it_out() {
    with_shapes("a_barrier_left_out_is_a_panic_whoever_leaves_it_out", UNEVEN, |shape| {
        let hive = hive(shape, 6);
        for absentee in 0..6 {
            let thrown = catch_unwind(AssertUnwindSafe(|| {
                hive.spmd(6, |bee| {
                    if bee.id() != absentee {
                        bee.barrier();
                    }
                });
            }));
            assert_contains_all(
                thrown.unwrap_err().downcast_ref::<String>().unwrap(),
                &["call barrier() equally often"],
            );
            assert_hive_works(&hive, 6);
        }
    });
}

#[test]
fn a_hive_is_resized_between_its_regions() {
    with_shapes("a_hive_is_resized_between_its_regions", NODES, |shape| {
        let hive = hive(shape, 8);
        for bees in [3, 8, 1, 5, 2, 7, 8] {
            hive.resize(bees).unwrap();
            hive.wait_until_parked();
            assert_hive_works(&hive, bees);
            // The hive grows again.
            assert_hive_works(&hive, 8);
        }
    });
}

#[test]
fn auto_is_by_the_number_of_bees_and_their_places() {
    let variables = [("HWLOC_SYNTHETIC", "pack:2 [numa(memory=1GB)] l3:2 core:4 pu:1"), ("HWLOC_THISSYSTEM", "0")];
    in_own_process_with("auto_is_by_the_number_of_bees_and_their_places", &variables, || {
        let line = |bees: usize| {
            let report = Hive::builder().bees(bees).max_bees(bees).pin(Pin::Core).build().unwrap().report().to_string();
            report.lines().find(|line| line.starts_with("barriers:")).unwrap().to_owned()
        };
        assert_contains_all(&line(4), &["flat (auto: the bees share a last-level cache"]);
        assert_contains_all(&line(8), &["flat (auto: by the number of bees and their places)"]);
        assert_contains_all(&line(16), &["cluster (auto: by the number of bees and their places)"]);
    });
}

#[test]
fn hive_barrier_is_heard_and_the_builder_is_heard_first() {
    in_own_process_with("hive_barrier_is_heard_and_the_builder_is_heard_first", &[("HIVE_BARRIER", "Node")], || {
        let report = |builder: hive::Builder| builder.bees(2).build().unwrap().report().to_string();
        assert_contains_all(&report(Hive::builder()), &["barriers:     node\n"]);
        assert_contains_all(&report(Hive::builder().barrier(BarrierShape::Cluster)), &["barriers:     cluster\n"]);
    });
}
