//! Regions while other threads resize at random: nothing stalls, and every region runs each bee exactly once.
//!
//! See `docs/resize.md`.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Gate, Rng, assert_hive_works, is_in_guest, is_stress, rounds_for, run_exclusively};
use hive::Hive;

/// The largest team.
const MAX_BEES: usize = 8;

/// A storm of regions and resizes.
struct StressPlan {
    regions: usize,
    spin: Duration,
    barrier: bool,
    /// The resizer waits for this many regions between two resizes.
    regions_a_resize: usize,
}

/// Counts the runs of each bee, and checks them after each region.
fn run_stress(storm: StressPlan) {
    let StressPlan { regions, spin, barrier, regions_a_resize } = storm;
    let hive = Hive::builder().bees(2).max_bees(MAX_BEES).spin(spin).build().unwrap();
    let (region, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let resizes = thread::scope(|scope| {
        let resizer = scope.spawn(|| {
            let (mut dice, mut resizes, mut next) = (Rng::new(7), 0_usize, 0);
            while !over.load(Ordering::Relaxed) {
                if region.load(Ordering::Relaxed) < next {
                    thread::yield_now();
                    continue;
                }
                next += regions_a_resize;
                hive.resize(dice.next_up_to(MAX_BEES)).unwrap();
                resizes += 1;
                if dice.next_up_to(64) == 1 {
                    hive.wait_until_parked();
                }
            }
            resizes
        });
        let runs: [AtomicU32; MAX_BEES] = Default::default();
        let mut expected = [0; MAX_BEES];
        let mut dice = Rng::new(3);
        for number in rounds_for(20, regions) {
            let n = dice.next_up_to(MAX_BEES);
            hive.spmd(n, |bee| {
                runs[bee.id()].fetch_add(1, Ordering::Relaxed);
                if barrier {
                    bee.barrier();
                }
            });
            expected[..n].iter_mut().for_each(|count| *count += 1);
            let seen = runs.each_ref().map(|runs| runs.load(Ordering::Relaxed));
            assert_eq!(seen, expected, "region {number}, of {n}");
            region.store(number, Ordering::Relaxed);
        }
        over.store(true, Ordering::Relaxed);
        resizer.join().unwrap()
    });
    assert!(resizes > 0);
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    assert_hive_works(&hive, MAX_BEES);
}

/// A million if HIVE_TEST_STRESS is set, which takes about a minute on two idle CPUs; otherwise 50,000, or 5,000 where
/// instructions may be emulated.
fn region_count() -> usize {
    if is_stress() {
        1_000_000
    } else if is_in_guest() {
        5_000
    } else {
        50_000
    }
}

#[test]
fn stress_many_regions_while_another_thread_resizes() {
    let _alone = run_exclusively();
    run_stress(StressPlan {
        regions: region_count(),
        spin: Duration::from_micros(200),
        barrier: false,
        regions_a_resize: 0,
    });
}

#[test]
fn stress_regions_while_another_thread_resizes_now_and_then() {
    let _alone = run_exclusively();
    run_stress(StressPlan {
        regions: region_count() / 5,
        spin: Duration::from_micros(200),
        barrier: false,
        regions_a_resize: 50,
    });
}

#[test]
fn stress_regions_with_barriers_whose_bees_sleep_at_once_while_another_thread_resizes() {
    let _alone = run_exclusively();
    run_stress(StressPlan { regions: region_count() / 10, spin: Duration::ZERO, barrier: true, regions_a_resize: 3 });
}

#[test]
fn stress_queens_resizers_and_settlers_all_at_once() {
    let _alone = run_exclusively();
    let rounds = region_count() / 50;
    let hive = Hive::builder().bees(1).max_bees(MAX_BEES).build().unwrap();
    let start = Gate::new();
    let (runs, expected) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for seed in 0..2 {
            let (hive, start, runs, expected) = (&hive, &start, &runs, &expected);
            let dice = move || Rng::new(seed + 100);
            // A queen.
            scope.spawn(move || {
                start.arrive_and_wait(6);
                let mut dice = dice();
                for _ in rounds_for(20, rounds) {
                    let n = dice.next_up_to(MAX_BEES);
                    expected.fetch_add(n, Ordering::Relaxed);
                    let asks = dice.next_up_to(4) == 1;
                    hive.spmd(n, |bee| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        if asks && bee.id() == n / 2 {
                            hive.resize(n).unwrap();
                        }
                        bee.barrier();
                    });
                }
            });
            // A thread that resizes.
            scope.spawn(move || {
                start.arrive_and_wait(6);
                let mut dice = dice();
                for _ in rounds_for(20, rounds) {
                    hive.resize(dice.next_up_to(MAX_BEES)).unwrap();
                    assert!(hive.bees_not_yet_tucked_in() < MAX_BEES);
                }
            });
            // A thread that resizes and waits until the surplus is parked.
            scope.spawn(move || {
                start.arrive_and_wait(6);
                let mut dice = dice();
                for _ in rounds_for(20, rounds / 10) {
                    hive.resize(dice.next_up_to(MAX_BEES)).unwrap();
                    hive.wait_until_parked();
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(runs.into_inner(), expected.into_inner());
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    assert_hive_works(&hive, MAX_BEES);
}
