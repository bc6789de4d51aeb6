//! Regions while other threads resize at random: nothing stalls, and every region runs each member exactly once.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Dice, Gate, alone, assert_works, in_guest};
use hive::Hive;

/// Largest team.
const MOST: usize = 8;

/// What a storm of regions is like.
struct Storm {
    regions: usize,
    spin: Duration,
    barrier: bool,
    /// The resizer waits for this many regions between two resizes.
    regions_a_resize: usize,
}

/// Counts of runs by member, checked after each region.
fn storm(storm: Storm) {
    let Storm { regions, spin, barrier, regions_a_resize } = storm;
    let hive = Hive::builder().bees(2).max_bees(MOST).spin(spin).build().unwrap();
    let (region, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let resizes = thread::scope(|scope| {
        let resizer = scope.spawn(|| {
            let (mut dice, mut resizes, mut next) = (Dice::new(7), 0_usize, 0);
            while !over.load(Ordering::Relaxed) {
                if region.load(Ordering::Relaxed) < next {
                    thread::yield_now();
                    continue;
                }
                next += regions_a_resize;
                hive.resize(dice.roll(MOST)).unwrap();
                resizes += 1;
                if dice.roll(64) == 1 {
                    hive.settle();
                }
            }
            resizes
        });
        let runs: [AtomicU32; MOST] = Default::default();
        let mut expected = [0; MOST];
        let mut dice = Dice::new(3);
        for number in 1..=regions {
            let n = dice.roll(MOST);
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
    hive.settle();
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    assert_works(&hive, MOST);
}

/// A million with HIVE_STRESS set, which takes about a minute on two quiet CPUs; else 50,000, or 5,000 where instructions may be emulated.
fn many() -> usize {
    if std::env::var_os("HIVE_STRESS").is_some() {
        1_000_000
    } else if in_guest() {
        5_000
    } else {
        50_000
    }
}

#[test]
fn stress_many_regions_while_another_thread_resizes() {
    let _alone = alone();
    storm(Storm { regions: many(), spin: Duration::from_micros(200), barrier: false, regions_a_resize: 0 });
}

#[test]
fn stress_regions_while_another_thread_resizes_now_and_then() {
    let _alone = alone();
    storm(Storm { regions: many() / 5, spin: Duration::from_micros(200), barrier: false, regions_a_resize: 50 });
}

#[test]
fn stress_regions_with_barriers_whose_bees_sleep_at_once_while_another_thread_resizes() {
    let _alone = alone();
    storm(Storm { regions: many() / 10, spin: Duration::ZERO, barrier: true, regions_a_resize: 3 });
}

#[test]
fn stress_queens_resizers_and_settlers_all_at_once() {
    let _alone = alone();
    let rounds = many() / 50;
    let hive = Hive::builder().bees(1).max_bees(MOST).build().unwrap();
    let start = Gate::new();
    let (members, expected) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for seed in 0..2 {
            let (hive, start, members, expected) = (&hive, &start, &members, &expected);
            let dice = move || Dice::new(seed + 100);
            // A queen.
            scope.spawn(move || {
                start.meet(6);
                let mut dice = dice();
                for _ in 0..rounds {
                    let n = dice.roll(MOST);
                    expected.fetch_add(n, Ordering::Relaxed);
                    let asks = dice.roll(4) == 1;
                    hive.spmd(n, |bee| {
                        members.fetch_add(1, Ordering::Relaxed);
                        if asks && bee.id() == n / 2 {
                            hive.resize(n).unwrap();
                        }
                        bee.barrier();
                    });
                }
            });
            // A resizer.
            scope.spawn(move || {
                start.meet(6);
                let mut dice = dice();
                for _ in 0..rounds {
                    hive.resize(dice.roll(MOST)).unwrap();
                    assert!(hive.bees_not_yet_tucked_in() < MOST);
                }
            });
            // One who resizes and settles.
            scope.spawn(move || {
                start.meet(6);
                let mut dice = dice();
                for _ in 0..rounds / 10 {
                    hive.resize(dice.roll(MOST)).unwrap();
                    hive.settle();
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(members.into_inner(), expected.into_inner());
    hive.resize(1).unwrap();
    hive.settle();
    assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    assert_works(&hive, MOST);
}
