//! Resizing: what it does to bees that are awake, asleep, busy and parked, from inside and outside of regions.
//!
//! See `docs/resize.md`.

#![cfg(target_os = "linux")]

mod common;

use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Gate, assert_contains_all, assert_hive_works, proc_threads, run_exclusively, sys, wait_until};
use hive::{Hive, Loop, Reduction};

/// Arrives at a gate when it is dropped, however its scope is left.
struct OpensOnDrop<'g>(&'g Gate);

impl Drop for OpensOnDrop<'_> {
    fn drop(&mut self) {
        self.0.arrive();
    }
}

/// Runs `meanwhile` while all bees of a team of `n` are at work, and then lets them end.
fn while_busy(hive: &Hive, n: usize, meanwhile: impl FnOnce()) {
    let (busy, free) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.spmd(n, |_| {
                busy.arrive();
                free.wait_for(1);
            });
        });
        busy.wait_for(n);
        let _free = OpensOnDrop(&free);
        meanwhile();
    });
}

/// The numbers of the workers' threads.
fn bee_tids(hive: &Hive, n: usize) -> Vec<i32> {
    let gate = Gate::new();
    let mut tids = hive.spmd_map(n, |_| {
        gate.arrive_and_wait(n);
        sys::tid()
    });
    tids.remove(0);
    tids
}

#[test]
fn smoke_all_orders_of_shrink_grow_settle_and_regions() {
    let _alone = run_exclusively();
    const OPERATIONS: usize = 6;
    let hive = Hive::new(3).unwrap();
    let mut size = 3;
    // Four operations in a row, in every combination.
    for acts in 0..OPERATIONS.pow(4) {
        for act in [acts, acts / OPERATIONS, acts / OPERATIONS.pow(2), acts / OPERATIONS.pow(3)] {
            match act % OPERATIONS {
                0 => hive.wait_until_parked(),
                1 => {
                    hive.spmd(2, |bee| bee.barrier());
                    size = size.max(2);
                }
                2 => {
                    hive.spmd(5, |bee| bee.barrier());
                    size = size.max(5);
                }
                resize => {
                    size = [1, 3, 6][resize - 3];
                    hive.resize(size).unwrap();
                }
            }
            assert_eq!(hive.bees(), size);
            // A worker that is brought back just as it goes to sleep counts itself out of the pending parks when it
            // runs again.
            wait_until(|| hive.bees_not_yet_tucked_in() <= 6 - size);
        }
        hive.wait_until_parked();
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (size, 0));
    }
}

#[test]
fn sizes_out_of_range_are_errors_with_their_numbers_and_change_nothing() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(3).max_bees(6).build().unwrap();
    assert_contains_all(&hive.resize(0).unwrap_err().to_string(), &["at least 1 bee", "0 bees were asked for"]);
    for n in [7, (1 << 32) + 1, usize::MAX] {
        assert_contains_all(&hive.resize(n).unwrap_err().to_string(), &[&n.to_string(), "limit is 6"]);
    }
    hive.spmd(3, |_| assert!(hive.resize(0).is_err() && hive.resize(7).is_err()));
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (3, 0));
    hive.resize(6).unwrap();
    assert_hive_works(&hive, 6);
}

#[test]
fn the_surplus_of_a_busy_team_is_counted_until_it_ends_and_growing_takes_it_back() {
    let _alone = run_exclusively();
    let hive = Hive::new(6).unwrap();
    for last in [1, 2, 6, 8] {
        while_busy(&hive, 6, || {
            // None of these resizes waits for the region.
            for (size, surplus) in [(2, 4), (4, 2), (1, 5), (6, 0), (3, 3), (3, 3), (8, 0)] {
                hive.resize(size).unwrap();
                assert_eq!(hive.bees(), size);
                // Bees 6 and 7 are not in the team, so they park in their own time.
                wait_until(|| hive.bees_not_yet_tucked_in() == surplus);
            }
            hive.resize(last).unwrap();
            assert_eq!(hive.bees(), last);
        });
        hive.wait_until_parked();
        assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (last, 0));
        assert_hive_works(&hive, 6);
        assert_hive_works(&hive, 8);
    }
}

#[test]
fn settle_waits_for_a_busy_surplus_bee_and_for_no_other() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let settled = AtomicBool::new(false);
    thread::scope(|scope| {
        while_busy(&hive, 4, || {
            // The team of four is busy, and all of its bees belong to the hive.
            hive.wait_until_parked();
            hive.resize(2).unwrap();
            for _ in 0..3 {
                scope.spawn(|| {
                    hive.wait_until_parked();
                    assert_eq!(hive.bees_not_yet_tucked_in(), 0);
                    settled.store(true, Ordering::Release);
                });
            }
            (0..1_000).for_each(|_| thread::yield_now());
            assert_eq!(hive.bees_not_yet_tucked_in(), 2);
            assert!(!settled.load(Ordering::Acquire));
        });
    });
    assert!(settled.into_inner());
}

#[test]
fn growing_back_lets_those_go_who_wait_for_a_busy_bee() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    while_busy(&hive, 4, || {
        hive.resize(1).unwrap();
        thread::scope(|scope| {
            let settlers: Vec<_> = (0..3).map(|_| scope.spawn(|| hive.wait_until_parked())).collect();
            (0..100).for_each(|_| thread::yield_now());
            assert!(settlers.iter().all(|settler| !settler.is_finished()));
            hive.resize(4).unwrap();
            // The resizes return although the region is still running.
        });
        assert_eq!(hive.bees_not_yet_tucked_in(), 0);
    });
    assert_hive_works(&hive, 4);
}

#[test]
fn a_bee_that_sleeps_is_not_woken_to_be_sent_to_bed() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(5).spin(Duration::ZERO).build().unwrap();
    let bees = bee_tids(&hive, 5);
    for _ in 0..3 {
        proc_threads::wait_until_asleep(&bees);
        let count = || bees.iter().map(|&bee| proc_threads::sleep_count(bee)).collect::<Vec<_>>();
        // A thread's state says that it sleeps a moment before that is counted.
        let mut sleeps = count();
        wait_until(|| {
            thread::sleep(Duration::from_millis(1));
            let before = mem::replace(&mut sleeps, count());
            before == sleeps
        });
        hive.resize(2).unwrap();
        assert_eq!(hive.bees_not_yet_tucked_in(), 0, "those who sleep are off their cores");
        hive.wait_until_parked();
        hive.resize(1).unwrap();
        (0..100).for_each(|_| thread::yield_now());
        assert_eq!(count(), sleeps, "somebody was woken");
        assert_hive_works(&hive, 5);
    }
}

#[test]
fn a_resize_from_inside_takes_effect_when_the_region_ends() {
    let _alone = run_exclusively();
    let (hive, other) = (Hive::new(3).unwrap(), Hive::new(2).unwrap());
    for asker in [0, 2] {
        for size in [1, 2, 3, 6] {
            hive.resize(3).unwrap();
            hive.wait_until_parked();
            hive.spmd(3, |bee| {
                if bee.id() == asker {
                    hive.resize(5).unwrap();
                    // From a nested region, too.
                    hive.spmd(2, |_| hive.resize(size).unwrap());
                    other.spmd(2, |bee| {
                        if bee.is_queen() {
                            hive.resize(size).unwrap()
                        }
                    });
                }
                assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (3, 0));
                hive.wait_until_parked();
                bee.barrier();
                assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (3, 0));
                hive.wait_until_parked();
                bee.barrier();
            });
            assert_eq!(hive.bees(), size, "the last size asked for");
            hive.wait_until_parked();
            assert_eq!(hive.bees_not_yet_tucked_in(), 0);
            assert_hive_works(&hive, 4);
        }
    }
    // A region of one bee is also a region.
    hive.resize(3).unwrap();
    hive.spmd(1, |_| {
        hive.resize(2).unwrap();
        assert_eq!(hive.bees(), 3);
    });
    assert_eq!(hive.bees(), 2);
}

#[test]
fn a_resize_from_inside_does_not_take_effect_when_another_region_ends() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    let (asked, passed) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            asked.wait_for(1);
            let _passed = OpensOnDrop(&passed);
            // A region of one bee does not need the queen lock.
            hive.spmd(1, |_| ());
        });
        hive.spmd(3, |bee| {
            if bee.is_queen() {
                hive.resize(2).unwrap();
                asked.arrive();
                passed.wait_for(1);
                assert_eq!(hive.bees(), 3, "the region that asked is still on");
            }
        });
    });
    assert_eq!(hive.bees(), 2);
}

#[test]
fn a_hive_is_resized_at_once_from_inside_a_region_of_another() {
    let _alone = run_exclusively();
    let (hive, other) = (Hive::new(3).unwrap(), Hive::new(2).unwrap());
    other.spmd(2, |bee| {
        for round in 0..200 {
            if bee.id() == round % 2 {
                hive.resize(1).unwrap();
                assert_eq!(hive.bees(), 1);
                hive.wait_until_parked();
                assert_eq!(hive.bees_not_yet_tucked_in(), 0);
                assert_hive_works(&hive, 3);
            }
            bee.barrier();
        }
    });
}

#[test]
fn a_region_that_needs_parked_bees_takes_them_back() {
    let _alone = run_exclusively();
    for spin in [Duration::ZERO, Duration::from_secs(3600)] {
        let hive = Hive::builder().bees(6).spin(spin).build().unwrap();
        for _ in 0..200 {
            hive.resize(1).unwrap();
            hive.wait_until_parked();
            assert_hive_works(&hive, 6);
            assert_eq!(hive.bees(), 6);
            hive.resize(2).unwrap();
            // Without waiting until the surplus is parked.
            assert_hive_works(&hive, 5);
            assert_eq!(hive.bees(), 5);
        }
    }
}

#[test]
fn the_bees_of_a_hive_keep_their_threads_through_parking() {
    let _alone = run_exclusively();
    let hive = Hive::new(4).unwrap();
    let before = bee_tids(&hive, 4);
    let threads = Mutex::new(Vec::new());
    for _ in 0..20 {
        hive.resize(1).unwrap();
        hive.wait_until_parked();
        hive.resize(4).unwrap();
        threads.lock().unwrap().push(bee_tids(&hive, 4));
    }
    assert!(threads.into_inner().unwrap().iter().all(|threads| threads == &before));
}

/// A program that calls a loop does not ask for a number of bees. If the hive is made smaller while the loop waits for
/// its turn, it stays so, and the surplus bees run their parts before they park.
#[test]
fn a_loop_that_waits_for_its_turn_does_not_make_the_hive_larger_again() {
    let _alone = run_exclusively();
    for bees in [2, 4] {
        let hive = Hive::new(bees).unwrap();
        for to in 1..=bees {
            let team = shrink_while_a_loop_waits(&hive, bees, to, Loop::from(0..100));
            // If it has come late, it has found the smaller hive.
            assert!([to, bees].contains(&team), "{to} of {bees} bees: {team}");
            assert_eq!(hive.bees(), to, "{bees} bees");
            hive.wait_until_parked();
        }
        assert_hive_works(&hive, bees);
    }
}

/// A plan is for a number of bees.
#[test]
fn a_loop_over_a_plan_makes_a_hive_large_enough_for_the_plan() {
    let _alone = run_exclusively();
    for bees in [2, 4] {
        let plan = Hive::new(bees).unwrap().plan(100);
        // On a hive that has never had so many; on one that has been made smaller; and if that happens while it waits.
        let hive = Hive::builder().bees(1).max_bees(bees).build().unwrap();
        for _ in 0..2 {
            hive.par_for(&plan, |_, bee| assert_eq!(bee.bees(), bees));
            assert_eq!(hive.bees(), bees);
            hive.resize(1).unwrap();
            let sum = hive.par_reduce(&plan, &Reduction::unordered(0, |a, b| a + b), |range| range.sum::<usize>());
            assert_eq!((sum, hive.bees()), (4950, bees));
            hive.resize(1).unwrap();
        }
        for to in 1..=bees {
            let team = shrink_while_a_loop_waits(&hive, bees, to, Loop::from(&plan));
            assert_eq!((team, hive.bees()), (bees, bees), "{to}");
        }
        // In a task of another hive, and in a region of it.
        let outer = Hive::new(2).unwrap();
        hive.resize(1).unwrap();
        outer.install(|| hive.par_for(&plan, |_, bee| assert!([1, bees].contains(&bee.bees()))));
        outer.spmd(2, |_| hive.par_for(&plan, |_, bee| assert!([1, bees].contains(&bee.bees()))));
        assert_hive_works(&hive, bees);
    }
}

/// Makes `hive` have `bees` bees, and then `to` while a loop waits for its turn. Returns how many bees the loop's team
/// had.
fn shrink_while_a_loop_waits(hive: &Hive, bees: usize, to: usize, work: Loop) -> usize {
    hive.resize(bees).unwrap();
    let (ran, team, is_called) = (AtomicUsize::new(0), AtomicUsize::new(0), Gate::new());
    let call = || {
        is_called.arrive();
        hive.par_for(work, |range, bee| {
            ran.fetch_add(range.len(), Ordering::Relaxed);
            team.store(bee.bees(), Ordering::Relaxed);
        });
    };
    thread::scope(|scope| {
        while_busy(hive, bees, || {
            scope.spawn(call);
            is_called.wait_for(1);
            // It has mostly come to wait by then.
            thread::sleep(Duration::from_millis(5));
            hive.resize(to).unwrap();
        });
    });
    assert_eq!(ran.into_inner(), 100);
    team.into_inner()
}
