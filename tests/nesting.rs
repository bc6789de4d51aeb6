//! Regions inside regions, of the same hive and of others, from one thread and crosswise from several.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{Gate, alone};
use hive::Hive;

#[test]
fn inside_a_region_of_the_same_hive_a_region_is_a_team_of_one() {
    let _alone = alone();
    let hive = Hive::new(3).unwrap();
    for n in [1, 2, 6] {
        let runs = AtomicUsize::new(0);
        hive.spmd(n, |_| {
            let outer = thread::current().id();
            // All at the same time, and none waits for another.
            hive.spmd(4, |bee| {
                assert_eq!((bee.id(), bee.count(), bee.is_queen()), (0, 1, true));
                assert_eq!(bee.split(0..10), 0..10);
                bee.barrier();
                hive.spmd(2, |bee| {
                    assert_eq!((bee.id(), bee.count()), (0, 1));
                    assert_eq!(hive.spmd_map(5, |bee| (bee.count(), thread::current().id())), [(1, outer)]);
                    runs.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(runs.into_inner(), n);
    }
    assert_eq!(hive.bees(), 6, "nested regions grow nothing");
}

#[test]
fn barriers_outside_and_inside_do_not_mix() {
    let _alone = alone();
    let hive = Hive::new(4).unwrap();
    let arrived = AtomicUsize::new(0);
    hive.spmd(4, |bee| {
        for round in 1..=100 {
            hive.spmd(3, |alone| (0..inner_barriers(round)).for_each(|_| alone.barrier()));
            arrived.fetch_add(1, Ordering::Relaxed);
            bee.barrier();
            assert_eq!(arrived.load(Ordering::Relaxed), 4 * round);
            bee.barrier();
        }
    });
}

/// A number of inner barriers that differs from round to round.
fn inner_barriers(round: usize) -> usize {
    round % 5
}

#[test]
fn inside_a_region_of_another_hive_a_region_is_a_team_where_that_hive_is_free() {
    let _alone = alone();
    let (outer, inner) = (Hive::new(2).unwrap(), Hive::new(3).unwrap());
    let gate = Gate::new();
    outer.spmd(2, |bee| {
        // One after the other, so that the inner hive is free.
        for member in 0..2 {
            if bee.id() == member {
                let counts = inner.spmd_map(3, |bee| {
                    gate.meet((member + 1) * 3);
                    (bee.id(), bee.count())
                });
                assert_eq!(counts, [(0, 3), (1, 3), (2, 3)]);
            }
            bee.barrier();
        }
    });
    assert_eq!(gate.here(), 6);
}

#[test]
fn inside_a_region_of_another_hive_a_region_is_a_team_of_one_where_that_hive_is_busy() {
    let _alone = alone();
    let (outer, inner) = (Hive::new(2).unwrap(), Hive::new(3).unwrap());
    let (busy, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            inner.spmd(2, |_| {
                busy.come();
                free.wait_for(1);
            });
        });
        busy.wait_for(2);
        let counts = outer.spmd_map(2, |_| inner.spmd_map(3, |bee| bee.count()));
        assert_eq!(counts, [[1], [1]]);
        free.come();
    });
}

#[test]
fn a_then_b_then_a_is_a_team_of_one_in_a() {
    let _alone = alone();
    let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    let counts = a.spmd_map(2, |outer| {
        let outer = outer.id();
        // Whoever comes second finds b busy, or free again: one or two members.
        b.spmd_map(2, |middle| {
            let inner = a.spmd_map(2, |bee| bee.count());
            (outer, middle.count(), inner)
        })
    });
    // A bee of b is outside of a, but a is busy.
    for (member, teams) in counts.iter().enumerate() {
        assert!(teams.len() == 1 || teams.len() == 2);
        assert!(
            teams.iter().all(|(outer, count, inner)| (*outer, *count) == (member, teams.len()) && inner == &[1]),
            "{counts:?}"
        );
    }
}

#[test]
fn stress_every_member_of_one_hive_starts_regions_on_another() {
    let _alone = alone();
    let (outer, inner) = (Hive::new(4).unwrap(), Hive::new(3).unwrap());
    let (expected, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    outer.spmd(4, |bee| {
        for _ in 0..500 {
            let team = inner.spmd_map(3, |bee| {
                runs.fetch_add(1, Ordering::Relaxed);
                bee.barrier();
                bee.count()
            });
            assert!(team == [1] || team == [3, 3, 3], "{team:?}");
            expected.fetch_add(team.len(), Ordering::Relaxed);
        }
        bee.barrier();
    });
    assert_eq!(runs.into_inner(), expected.into_inner());
}

#[test]
fn stress_two_hives_nested_crosswise_do_not_deadlock() {
    let _alone = alone();
    let (a, b) = (Hive::new(2).unwrap(), Hive::new(2).unwrap());
    let start = Gate::new();
    thread::scope(|scope| {
        for (first, second) in [(&a, &b), (&b, &a)] {
            let start = &start;
            scope.spawn(move || {
                start.meet(2);
                for _ in 0..1_000 {
                    first.spmd(2, |bee| {
                        second.spmd(2, |inner| {
                            first.spmd(2, |innermost| assert_eq!(innermost.count(), 1));
                            inner.barrier();
                        });
                        bee.barrier();
                    });
                }
            });
        }
    });
}

#[test]
fn a_hive_is_built_used_resized_and_dropped_inside_a_region_of_another() {
    let _alone = alone();
    let outer = Hive::new(3).unwrap();
    for _ in 0..20 {
        outer.spmd(3, |bee| {
            let own = Hive::new(2).unwrap();
            common::assert_works(&own, 2);
            common::assert_works(&own, 4);
            own.resize(1).unwrap();
            own.settle();
            bee.barrier();
        });
    }
}
