//! Regions of all bees that a hive has: they have its size, and never change it.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::{assert_contains_all, panic_message, run_exclusively, silence_panics, wait_until};
use hive::Hive;

#[test]
fn the_team_is_as_large_as_the_hive() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(3).max_bees(6).build().unwrap();
    for bees in [3, 1, 2, 6, 4, 1, 5] {
        hive.resize(bees).unwrap();
        let ids = hive.spmd_all_map(|bee| {
            assert_eq!(bee.bees(), bees);
            bee.all_reduce(1, |a, b| a + b) * 100 + bee.id()
        });
        assert_eq!(ids, (0..bees).map(|id| 100 * bees + id).collect::<Vec<_>>());
        let ran = AtomicUsize::new(0);
        hive.spmd_all(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
        assert_eq!((ran.into_inner(), hive.bees()), (bees, bees));
    }
}

#[test]
fn a_resize_is_never_undone() {
    let _alone = run_exclusively();
    let (hive, regions, done) = (Hive::new(4).unwrap(), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                hive.spmd_all(|bee| bee.barrier());
                regions.fetch_add(1, Ordering::Relaxed);
            }
        });
        for round in 0..if cfg!(debug_assertions) { 300 } else { 3_000 } {
            hive.resize(2 + round % 3).unwrap();
            hive.resize(1 + round % 2).unwrap();
            let before = regions.load(Ordering::Relaxed);
            wait_until(|| regions.load(Ordering::Relaxed) > before + 2);
            assert_eq!(hive.bees(), 1 + round % 2, "round {round}");
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn inside_of_other_work_it_is_as_any_region() {
    let _alone = run_exclusively();
    let (hive, other) = (Hive::new(3).unwrap(), Hive::new(2).unwrap());
    hive.spmd(3, |_| hive.spmd_all(|bee| assert_eq!(bee.bees(), 1)));
    let sizes = Mutex::new(Vec::new());
    hive.install(|| hive.spmd_all(|bee| sizes.lock().unwrap().push(bee.bees())));
    assert_eq!(sizes.into_inner().unwrap(), [3; 3]);
    // The free functions act on the hive that they are called in.
    assert_eq!(other.install(|| hive::spmd_all_map(|bee| bee.bees())), [2; 2]);
    // Another hive, which is free or not, from inside of a region: a whole team or one bee, and no growth.
    hive.spmd(3, |_| other.spmd_all(|bee| assert!([1, 2].contains(&bee.bees()))));
    assert_eq!((hive.bees(), other.bees()), (3, 2));
}

#[test]
fn a_resize_in_the_region_takes_effect_at_its_end() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(3).max_bees(5).build().unwrap();
    for bees in [1, 5, 2, 4] {
        hive.spmd_all(|bee| {
            if bee.is_queen() {
                hive.resize(bees).unwrap();
            }
        });
        assert_eq!(hive.bees(), bees);
    }
}

#[test]
fn a_panic_reaches_the_caller() {
    let _alone = run_exclusively();
    silence_panics("no honey");
    let hive = Hive::new(3).unwrap();
    let message = panic_message(|| hive.spmd_all(|bee| assert!(bee.id() < 2, "no honey")));
    assert_contains_all(&message, &["no honey"]);
    assert_eq!(hive.spmd_all_map(|bee| bee.id()), [0, 1, 2]);
    // A large closure, which is boxed on its way.
    let large = [1_u8; 20_000];
    hive.spmd_all(move |bee| assert_eq!(large[bee.id()], 1));
}
