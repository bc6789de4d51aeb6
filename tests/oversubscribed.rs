//! More bees than CPUs: regions and barriers make progress, whether the bees sleep at once, poll first, or poll without
//! end.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::run_exclusively;
use hive::Hive;

/// Runs barriers and regions of `n` bees.
fn assert_progress(hive: &Hive, n: usize, barriers: usize, regions: usize) {
    let runs = AtomicUsize::new(0);
    hive.spmd(n, |bee| {
        for round in 1..=barriers {
            runs.fetch_add(1, Ordering::Relaxed);
            bee.barrier();
            assert_eq!(runs.load(Ordering::Relaxed), n * round);
            bee.barrier();
        }
    });
    (0..regions).for_each(|_| {
        hive.spmd(n, |_| {
            runs.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(runs.into_inner(), n * (barriers + regions));
}

#[test]
fn eight_bees_meet_at_barriers() {
    let _alone = run_exclusively();
    // Endless polling must give way where CPUs are short; otherwise each barrier would cost time slices.
    for spin in [Duration::ZERO, Duration::from_micros(200), Duration::MAX] {
        let hive = Hive::builder().bees(8).spin(spin).build().unwrap();
        assert_progress(&hive, 8, 1_000, 1_000);
    }
}

#[test]
fn sixty_four_bees_meet_at_barriers() {
    let _alone = run_exclusively();
    for spin in [Duration::ZERO, Duration::from_micros(200), Duration::MAX] {
        let hive = Hive::builder().bees(64).spin(spin).build().unwrap();
        assert_progress(&hive, 64, 50, 50);
    }
}

#[test]
fn a_thousand_bees() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(1).max_bees(1_000).stack_size(64 << 10).build().unwrap();
    assert_progress(&hive, 1_000, 2, 2);
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_progress(&hive, 1_000, 1, 1);
}

#[test]
fn hives_that_poll_without_end_beside_each_other() {
    let _alone = run_exclusively();
    let built = || Hive::builder().bees(3).spin(Duration::MAX).build().unwrap();
    let hives = [built(), built(), built()];
    thread::scope(|scope| {
        for hive in &hives {
            scope.spawn(|| assert_progress(hive, 3, 300, 300));
        }
    });
}
