//! Sections in which the bees keep spinning and do not sleep, and bees that are told to sleep at once.

#![cfg(target_os = "linux")]

mod common;

use std::thread;
use std::time::Duration;

use common::{assert_hive_works, run_exclusively, wait_until};
use hive::Hive;

/// How often the bees have slept.
fn sleeps(hive: &Hive) -> u64 {
    hive.stats().total().sleeps
}

#[test]
fn nobody_sleeps_in_a_hot_section_and_all_do_afterwards() {
    let _alone = run_exclusively();
    if thread::available_parallelism().unwrap().get() < 2 {
        println!("skipped: with one CPU nobody polls");
        return;
    }
    let hive = Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap();
    // Counted inside of the section: at its end the bee may be asleep before this thread has counted.
    let before = hive.keep_spinning(|| {
        hive.spmd(2, |_| ());
        let before = sleeps(&hive);
        hive.keep_spinning(|| thread::sleep(Duration::from_millis(5)));
        thread::sleep(Duration::from_millis(20));
        assert_eq!(sleeps(&hive), before);
        assert_hive_works(&hive, 2);
        before
    });
    wait_until(|| sleeps(&hive) > before);
    assert_hive_works(&hive, 2);
}

#[test]
fn a_hot_section_ends_with_its_panic() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        hive.keep_spinning(|| std::panic::resume_unwind(Box::new(7)))
    }));
    assert_eq!(caught.map(|(): ()| ()).unwrap_err().downcast_ref(), Some(&7));
    let before = sleeps(&hive);
    hive.spmd(2, |_| ());
    wait_until(|| sleeps(&hive) > before);
}

#[test]
fn relaxed_bees_sleep_at_once() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(2).spin(Duration::MAX).build().unwrap();
    for _ in 0..20 {
        // Where CPUs are short the bee may have gone to sleep by itself.
        let before = sleeps(&hive);
        hive.spmd(2, |_| ());
        hive.stop_spinning();
        wait_until(|| sleeps(&hive) > before);
        assert_hive_works(&hive, 2);
    }
}

#[test]
fn a_hot_section_inside_a_region_changes_nothing_but_the_waiting() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let results = hive.spmd_map(2, |bee| hive.keep_spinning(|| bee.all_reduce(bee.id(), |a, b| a + b)));
    assert_eq!(results, [1, 1]);
}
