//! The second halves of joins that a bee keeps to itself are shared as soon as another bee is idle, however deep the
//! recursion is, and with nobody if none is.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use common::process::in_own_process;
use common::task_helpers::builders;
use common::{Gate, keep, proc_threads, run_exclusively, sys, wait_until};
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
            let hive: &Hive = keep(builder.bees(3).build().unwrap());
            let bees = bee_tids(hive);
            for _ in 0..50 {
                proc_threads::wait_until_asleep(&bees);
                let done: &Gate = keep(Default::default());
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

/// A chain: each join's first half is the rest of it. The bee that becomes idle when the queen has come to its end,
/// deep inside of all joins, gets all of their second halves.
#[test]
fn all_halves_of_a_chain_of_joins_are_shared_with_a_bee_that_becomes_idle_late() {
    const LEVELS: usize = 100;
    /// The queen ends each of her first halves when the bee has run one more, and sleeps again.
    const ONE_BY_ONE: usize = 10;
    struct Chain {
        hive: Hive,
        bees: Vec<i32>,
        by_bee: [AtomicUsize; 2],
    }
    impl Chain {
        fn descend(&self, levels: usize, at_end: &(impl Fn() + Sync)) {
            if levels == 0 {
                at_end();
                return;
            }
            self.hive.join(|| self.descend(levels - 1, at_end), || self.second_half());
        }

        fn second_half(&self) {
            let [by_queen, by_worker] = &self.by_bee;
            if hive::current().expect("a bee").id > 0 {
                by_worker.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let rank = by_queen.fetch_add(1, Ordering::Relaxed);
            if rank < ONE_BY_ONE {
                wait_until(|| by_worker.load(Ordering::Relaxed) > rank);
                proc_threads::wait_until_asleep(&self.bees);
            }
        }
    }
    in_own_process("all_halves_of_a_chain_of_joins_are_shared_with_a_bee_that_becomes_idle_late", || {
        for builder in builders() {
            let hive = builder.bees(2).build().unwrap();
            let chain = Chain { bees: bee_tids(&hive), hive, by_bee: Default::default() };
            let (busy, free): (&Gate, &Gate) = (keep(Default::default()), keep(Default::default()));
            chain.hive.spawn_on(1, || {
                busy.arrive();
                free.wait_for(1);
            });
            busy.wait_for(1);
            chain.hive.install(|| {
                chain.descend(LEVELS, &|| {
                    free.arrive();
                    proc_threads::wait_until_asleep(&chain.bees);
                });
            });
            let ran = chain.by_bee.map(AtomicUsize::into_inner);
            assert_eq!(ran.iter().sum::<usize>(), LEVELS);
            assert!(ran[1] >= ONE_BY_ONE, "{ran:?}");
        }
    });
}

/// In a hive of the queen alone as well as in one with a worker that sleeps or takes part.
#[test]
fn a_first_half_that_yields_until_the_second_has_run_comes_to_an_end_at_any_depth() {
    fn descend(hive: &Hive, levels: u32) {
        let has_run = AtomicBool::new(false);
        let first = || {
            if levels > 0 {
                descend(hive, levels - 1);
            }
            while !has_run.load(Ordering::Acquire) {
                hive::yield_now();
            }
        };
        hive.join(first, || has_run.store(true, Ordering::Release));
    }
    in_own_process("a_first_half_that_yields_until_the_second_has_run_comes_to_an_end_at_any_depth", || {
        for builder in builders() {
            for bees in [1, 2] {
                // With a sanitizer a level takes two kilobytes and more of the stack.
                let hive = builder.clone().bees(bees).stack_size(16 << 20).build().unwrap();
                (0..20).for_each(|levels| descend(&hive, levels));
                hive.install(|| descend(&hive, 1_000));
            }
        }
    });
}

/// The same while there is always another task to run.
#[test]
fn a_first_half_that_yields_comes_to_the_second_beside_a_task_that_spawns_itself_again_and_again() {
    fn spawn_again<'scope>(scope: &hive::Scope<'scope>, has_run: &'scope AtomicBool) {
        if !has_run.load(Ordering::Acquire) {
            scope.spawn(|scope| spawn_again(scope, has_run));
        }
    }
    in_own_process(
        "a_first_half_that_yields_comes_to_the_second_beside_a_task_that_spawns_itself_again_and_again",
        || {
            for builder in builders() {
                for bees in [1, 2] {
                    let hive = builder.clone().bees(bees).build().unwrap();
                    let has_run = AtomicBool::new(false);
                    hive.scope(|scope| {
                        spawn_again(scope, &has_run);
                        let first = || {
                            while !has_run.load(Ordering::Acquire) {
                                hive::yield_now();
                            }
                        };
                        hive.join(first, || has_run.store(true, Ordering::Release));
                    });
                }
            }
        },
    );
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
