//! The halves of joins that a bee has buffered are shared as soon as another bee is idle: with as many bees as are
//! idle, and with no others.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::process::in_own_process;
use common::task_helpers::builders;
use common::{Gate, proc_threads, run_exclusively, sys, wait_until};
use hive::Hive;

/// The two halves of a join wait for each other, so they must run on two threads at once.
fn assert_all_bees_at_once(hive: &Hive) {
    let both = Gate::new();
    let threads = hive.join(
        || (both.arrive_and_wait(2), thread::current().id()).1,
        || (both.arrive_and_wait(2), thread::current().id()).1,
    );
    assert_ne!(threads.0, threads.1);
}

fn bee_tids(hive: &Hive) -> Vec<i32> {
    hive.broadcast(|_| sys::tid())
}

/// Runs in a process of its own, as the others do, because a bee that keeps a half to itself waits for ever.
#[test]
fn both_halves_of_a_lone_join_run_at_once() {
    in_own_process("both_halves_of_a_lone_join_run_at_once", || {
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            let bees = bee_tids(&hive);
            for _ in 0..50 {
                proc_threads::wait_until_asleep(&bees);
                assert_all_bees_at_once(&hive);
                proc_threads::wait_until_asleep(&bees);
                hive.install(|| assert_all_bees_at_once(&hive));
            }
        }
    });
}

/// A bee that has just been at work does not count as idle for a moment.
#[test]
fn both_halves_of_a_join_from_outside_run_at_once_whatever_the_bee_has_just_done() {
    in_own_process("both_halves_of_a_join_from_outside_run_at_once_whatever_the_bee_has_just_done", || {
        for builder in builders() {
            for _ in 0..20 {
                let hive = builder.clone().bees(2).build().unwrap();
                assert_all_bees_at_once(&hive);
                hive.spmd(2, |_| ());
                assert_all_bees_at_once(&hive);
                hive.spawn_on(1, || ());
                assert_all_bees_at_once(&hive);
            }
        }
    });
}

#[test]
fn both_halves_of_a_join_in_a_task_run_at_once() {
    in_own_process("both_halves_of_a_join_in_a_task_run_at_once", || {
        for builder in builders() {
            let hive: &Hive = Box::leak(Box::new(builder.bees(3).build().unwrap()));
            let bees = bee_tids(hive);
            for _ in 0..50 {
                proc_threads::wait_until_asleep(&bees);
                let done: &Gate = Box::leak(Box::default());
                hive.spawn_on(1, || {
                    assert_all_bees_at_once(hive);
                    done.arrive();
                });
                done.wait_for(1);
            }
        }
    });
}

/// Leaves of a tree of joins. Each lasts until two bees have been in a leaf. (Not all four: a bee that becomes idle
/// after the joins have begun is offered nothing until another join begins.)
#[test]
fn others_take_part_in_a_small_tree() {
    fn grow(hive: &Hive, leaves: u32, here: &AtomicU64) {
        if leaves > 1 {
            hive.join(|| grow(hive, leaves / 2, here), || grow(hive, leaves / 2, here));
        } else {
            let bee = hive::current().expect("a bee").id;
            here.fetch_or(1 << bee, Ordering::Relaxed);
            wait_until(|| here.load(Ordering::Relaxed).count_ones() >= 2);
        }
    }
    in_own_process("others_take_part_in_a_small_tree", || {
        for builder in builders() {
            let hive = builder.bees(4).build().unwrap();
            let bees = bee_tids(&hive);
            for _ in 0..50 {
                proc_threads::wait_until_asleep(&bees);
                hive.install(|| grow(&hive, 8, &AtomicU64::new(0)));
                proc_threads::wait_until_asleep(&bees);
                grow(&hive, 8, &AtomicU64::new(0));
            }
        }
    });
}

/// Parked bees do not count as idle.
#[test]
fn a_lone_queen_calls_nobody_for_her_joins() {
    let _alone = run_exclusively();
    for builder in builders() {
        let hive = builder.bees(3).build().unwrap();
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        let steps = || (hive.stats().total().wakes, hive.stats().total().tasks, hive.stats().total().parks);
        let before = steps();
        let own = thread::current().id();
        for _ in 0..1_000 {
            let halves = || thread::current().id();
            assert_eq!(hive.join(halves, halves), (own, own));
            assert_eq!(hive.install(|| hive.join(halves, halves)), (own, own));
        }
        assert_eq!(steps(), before);
    }
}
