//! Sets of hives on machines of several nodes, as hwloc makes them up: where the bees are, which bees wait for each
//! other, and what other hives have.
//!
//! See `docs/hive-sets.md`.

#![cfg(all(target_os = "linux", feature = "hwloc"))]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::hive_sets::{TWO_BY_TWO, assert_set_works, cpus_of_hives, on_machine, two_hives_of_two};
use common::process::in_own_process_with;
use common::{Gate, assert_contains_all, assert_hive_works, sys};
use hive::{Hive, HiveSet, Pin, PlaceUnit, Reduction};

#[test]
fn bees_are_numbered_over_all_hives() {
    on_machine(TWO_BY_TWO, "bees_are_numbered_over_all_hives", &[], || {
        for hives in two_hives_of_two() {
            let seen =
                hives.spmd_map(|bee| (bee.id(), bee.bees(), bee.hive(), bee.hives(), bee.local().id(), bee.node()));
            let expected = |id: usize| (id, 4, id / 2, 2, id % 2, Some(id / 2));
            assert!(seen.iter().copied().eq((0..4).map(expected)), "{seen:?}");
            assert_eq!(hives.spmd_map(|bee| bee.split(0..10)), [0..3, 3..6, 6..8, 8..10]);
            assert_eq!(hives.spmd_map(|bee| bee.split_by_hive(0..10)), [0..6, 0..6, 6..10, 6..10]);
            assert_eq!(hives.spmd_map(|bee| bee.is_queen()), [true, false, false, false]);
            assert_set_works(&hives, 4);
            assert_eq!(cpus_of_hives(&hives), [[0, 1], [2, 3]]);
        }
    });
}

#[test]
fn what_is_written_before_the_barrier_is_seen_after_it() {
    on_machine(TWO_BY_TWO, "what_is_written_before_the_barrier_is_seen_after_it", &[], || {
        const ROUNDS: u64 = 500;
        let hives = HiveSet::per_node().unwrap();
        // Each bee adds the values that its neighbours had in the round before.
        let values: [[sys::UnsyncCell; 4]; 2] = Default::default();
        values[0].iter().for_each(|value| value.set(1));
        hives.spmd(|bee| {
            let id = bee.id();
            for round in 0..ROUNDS as usize {
                let (old, new) = (&values[round % 2], &values[(round + 1) % 2]);
                let [left, right] = [(id + 3) % 4, (id + 1) % 4].map(|other| old[other].get());
                assert_eq!(left, right, "round {round}");
                new[id].set((left + right) % 1_000_003);
                bee.barrier();
            }
        });
        let expected = (0..ROUNDS).fold(1, |value, _| 2 * value % 1_000_003);
        assert!(values[0].iter().all(|value| value.get() == expected));
    });
}

#[test]
fn barriers_of_one_hive_and_of_all_and_reductions_go_together() {
    on_machine(TWO_BY_TWO, "barriers_of_one_hive_and_of_all_and_reductions_go_together", &[], || {
        for hives in two_hives_of_two() {
            let passed = [AtomicUsize::new(0), AtomicUsize::new(0)];
            hives.spmd(|bee| {
                for round in 1..=50 {
                    // The hives do different amounts of work on their own.
                    for _ in 0..round % (bee.hive() + 3) {
                        bee.local().barrier();
                    }
                    passed[bee.hive()].fetch_add(1, Ordering::Relaxed);
                    let text = bee.all_reduce((bee.id(), 10 * round), |a, b| (a.0 * 10 + b.0, a.1.max(b.1)));
                    // Bees 0 and 1 together, then 2 and 3, then all.
                    assert_eq!(text, (23 + 10, 10 * round));
                    assert!(passed.iter().all(|passed| passed.load(Ordering::Relaxed) == 2 * round));
                    assert_eq!(bee.local().all_reduce(bee.id(), |a, b| a + b), [1, 5][bee.hive()]);
                    bee.barrier();
                }
            });
        }
    });
}

#[test]
fn one_hive_is_resized_and_the_others_are_as_before() {
    on_machine(TWO_BY_TWO, "one_hive_is_resized_and_the_others_are_as_before", &[], || {
        let hives = HiveSet::per_node().unwrap();
        hives[1].resize(1).unwrap();
        hives.wait_until_parked();
        assert_eq!((hives.bees(), hives[1].bees_not_yet_tucked_in()), (3, 0));
        assert_eq!(hives.spmd_map(|bee| (bee.hive(), bee.local().id())), [(0, 0), (0, 1), (1, 0)]);
        assert_set_works(&hives, 3);
        // From inside, by a bee of that hive and by one of another.
        hives.spmd(|bee| {
            if bee.id() == 2 {
                hives[1].resize(3).unwrap();
            }
            bee.barrier();
            assert_eq!(bee.bees(), 3);
        });
        assert_set_works(&hives, 5);
        // The other hive may not have started yet. The resize must be noticed all the same.
        for _ in 0..200 {
            hives[1].resize(3).unwrap();
            hives.spmd(|bee| {
                if bee.is_queen() {
                    hives[1].resize(2).unwrap();
                }
                assert_eq!(bee.bees(), 5);
                bee.barrier();
            });
            assert_eq!(hives[1].bees(), 2);
        }
        hives[0].resize(1).unwrap();
        assert_eq!(hives.spmd_map(|bee| bee.hive()), [0, 1, 1]);
    });
}

#[test]
fn single_hives_are_used_beside_the_team_over_all() {
    on_machine(TWO_BY_TWO, "single_hives_are_used_beside_the_team_over_all", &[], || {
        let hives = HiveSet::per_node().unwrap();
        let start = Gate::new();
        thread::scope(|scope| {
            for number in 0..4 {
                let (hives, start) = (&hives, &start);
                scope.spawn(move || {
                    start.arrive_and_wait(4);
                    for _ in 0..50 {
                        if number < 2 { assert_hive_works(&hives[number], 2) } else { assert_set_works(hives, 4) }
                    }
                });
            }
        });
        let sums = hives.on_each(|number, hive| {
            assert_hive_works(hive, 2);
            let (a, b) = hive.join(|| 1, || 2);
            hive.par_reduce(0..100, &Reduction::per_team_size(0, |a, b| a + b), |range| range.sum::<usize>())
                + number
                + a
                + b
        });
        assert_eq!(sums, [4953, 4954]);
    });
}

#[test]
fn inside_a_region_or_a_task_it_is_a_team_of_one() {
    on_machine(TWO_BY_TWO, "inside_a_region_or_a_task_it_is_a_team_of_one", &[], || {
        let (hives, other) = (HiveSet::per_node().unwrap(), Hive::builder().bees(2).pin(Pin::None).build().unwrap());
        let alone = || {
            let seen = hives.spmd_map(|bee| {
                bee.barrier();
                assert_eq!(bee.all_reduce(7, |a, b| a + b), 7);
                (bee.id(), bee.bees(), bee.hives(), bee.split_by_hive(0..9))
            });
            assert_eq!(seen, [(0, 1, 1, 0..9)]);
            assert_eq!(
                hives.on_each(|number, hive| (number, hive.spmd_map(1, |bee| bee.id()))),
                [(0, vec![0]), (1, vec![0])]
            );
        };
        hives.spmd(|bee| {
            alone();
            bee.barrier();
        });
        hives[1].spmd(2, |_| alone());
        other.spmd(2, |_| alone());
        other.install(alone);
        other.scope(|scope| scope.spawn(|_| alone()));
        hives.on_each(|_, _| alone());
        assert_set_works(&hives, 4);
    });
}

#[test]
fn cpus_of_other_hives_are_left_alone() {
    on_machine(TWO_BY_TWO, "cpus_of_other_hives_are_left_alone", &[], || {
        let other = Hive::builder().bees(2).pin(Pin::Cpus(vec![0, 1])).build().unwrap();
        let hives = HiveSet::per_node().unwrap();
        assert_eq!((cpus_of_hives(&hives), hives.node(0)), (vec![vec![2, 3]], Some(1)));
        let report = hives.report();
        assert_contains_all(
            &report.to_string(),
            &["0: node 1, 2 bees on CPUs 2-3; memory node 1", "nodes 0, which no hive has"],
        );
        assert!(
            report
                .warnings()
                .iter()
                .any(|warning| warning.contains("no hive for node 0: other hives of this process have its CPUs, 0-1")),
            "{report}"
        );
        assert_set_works(&hives, 2);
        let refused = HiveSet::per_node().unwrap_err().to_string();
        assert_contains_all(&refused, &["no CPU is left", "0-3", "share(true)"]);
        let sharing = HiveSet::builder().share(true).build().unwrap();
        assert_eq!(cpus_of_hives(&sharing), [[0, 1], [2, 3]]);
        drop((other, hives, sharing));
        assert_eq!(cpus_of_hives(&HiveSet::per_node().unwrap()), [[0, 1], [2, 3]]);
        // CPUs that are left free can be had by another hive.
        let hives = HiveSet::builder().leave_free(1).build().unwrap();
        let other = Hive::new(2).unwrap();
        assert_eq!(cpus_of_hives(&hives), [[0], [2]]);
        assert_eq!(other.places().iter().flatten().flat_map(|place| place.cpus()).collect::<Vec<_>>(), [&1, &3]);
    });
}

#[test]
fn two_hives_have_cores_of_their_own_while_there_are_any() {
    on_machine("pack:1 core:4 pu:2", "two_hives_have_cores_of_their_own_while_there_are_any", &[], || {
        let cores = |hive: &Hive| hive.places().iter().flatten().map(|place| place.core().unwrap()).collect::<Vec<_>>();
        let [first, second] = [2, 2].map(|bees| Hive::new(bees).unwrap());
        assert_eq!([cores(&first), cores(&second)], [[0, 1], [2, 3]]);
        // Only second hardware threads are left, and still no CPU is shared.
        let third = Hive::new(4).unwrap();
        let cpus: Vec<_> = [&first, &second, &third].iter().flat_map(|hive| hive.places()).flatten().collect();
        let mut distinct: Vec<_> = cpus.iter().flat_map(|place| place.cpus()).collect();
        distinct.sort_unstable();
        assert!(distinct.into_iter().copied().eq(0..8));
    });
}

#[test]
fn the_environment_is_heard_as_far_as_it_makes_sense() {
    let variables =
        [("HIVE_NUM_BEES", "3"), ("HIVE_PLACES", "{3}"), ("HIVE_PROC_BIND", "close"), ("HIVE_SHRINK", "spread")];
    let machine = "pack:2 [numa(memory=1GB)] l3:2 core:2 pu:1";
    on_machine(machine, "the_environment_is_heard_as_far_as_it_makes_sense", &variables, || {
        let hives = HiveSet::per_node().unwrap();
        assert_eq!(cpus_of_hives(&hives), [vec![0, 2], vec![4]]);
        let report = hives.report();
        // The warning is that hwloc describes another machine.
        assert_eq!(report.warnings().len(), 1, "{report}");
        hives[1].resize(3).unwrap();
        assert_eq!(cpus_of_hives(&hives), [vec![0, 2], vec![4, 6, 5]]);
        drop(hives);
        let hives = HiveSet::builder().template(Hive::builder().bees(1)).build().unwrap();
        assert_eq!(cpus_of_hives(&hives), [[0], [4]]);
    });
}

#[test]
fn more_bees_than_the_hives_can_have_are_not_had() {
    let variables = [("HIVE_NUM_BEES", "99"), ("HIVE_PIN", "none")];
    on_machine(TWO_BY_TWO, "more_bees_than_the_hives_can_have_are_not_had", &variables, || {
        let hives = HiveSet::per_node().unwrap();
        assert_eq!(hives.bees(), 4);
        assert_contains_all(
            &hives.report().to_string(),
            &["HIVE_NUM_BEES=99 is taken for 4", "HIVE_PIN=none has no effect"],
        );
    });
}

#[test]
fn packages_of_two_nodes_and_caches_have_hives_too() {
    let machine = "pack:2 [numa(memory=1GB)] group:2 [numa(memory=1GB)] core:1 pu:1";
    on_machine(machine, "packages_of_two_nodes_and_caches_have_hives_too", &[], || {
        let hives = HiveSet::builder().each(PlaceUnit::Sockets).build().unwrap();
        assert_eq!(cpus_of_hives(&hives), [[0, 1], [2, 3]]);
        assert_eq!([0, 1].map(|number| hives.node(number)), [None, None]);
        assert_contains_all(
            &hives.report().to_string(),
            &["2, one for each package", "1: package 1, 2 bees on CPUs 2-3"],
        );
        assert_set_works(&hives, 4);
        drop(hives);
        let hives = HiveSet::builder().each(PlaceUnit::LlCaches).build().unwrap();
        assert_set_works(&hives, 4);
    });
}

/// The hives on a machine that is described in a file.
fn on_described_machine(file: &str, test: &str, part: impl FnOnce(&HiveSet)) {
    let file = format!("{}/tests/topologies/{file}.xml", env!("CARGO_MANIFEST_DIR"));
    let variables = [("HWLOC_XMLFILE", &*file), ("HWLOC_THISSYSTEM", "0")];
    in_own_process_with(test, &variables, || {
        part(&HiveSet::builder().template(Hive::builder().bees(1)).build().unwrap());
    });
}

#[test]
fn memory_without_cpus_has_no_hive() {
    on_described_machine("memory_only_node", "memory_without_cpus_has_no_hive", |hives| {
        assert_eq!(cpus_of_hives(hives), [[0], [4]]);
        let report = hives.report().to_string();
        assert_contains_all(&report, &["other memory:", "which no hive has for its own"]);
        assert_set_works(hives, 2);
    });
}

#[test]
fn cpus_without_memory_have_a_hive() {
    on_described_machine("node_without_memory", "cpus_without_memory_have_a_hive", |hives| {
        assert_eq!([0, 1].map(|number| hives.node(number)), [Some(0), Some(1)]);
        assert_eq!(cpus_of_hives(hives), [[0], [4]]);
        assert_set_works(hives, 2);
    });
}

#[test]
fn cpus_that_are_switched_off_are_left_out() {
    on_described_machine("offline_cpus", "cpus_that_are_switched_off_are_left_out", |hives| {
        hives.iter().for_each(|hive| hive.resize(3).unwrap());
        assert_eq!(cpus_of_hives(hives), [[0, 1, 3], [4, 6, 7]]);
    });
}
