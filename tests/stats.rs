//! What a hive counts, and sleeping bees that wake by themselves to look for work.

mod common;

use std::sync::mpsc;
use std::time::Duration;

use common::task_helpers::{PROTOCOLS, fib_by_joins, join_on_two_bees};
use common::{run_exclusively, wait_until};
use hive::Hive;

#[test]
fn parts_of_regions_are_counted_by_each_bee() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    (0..10).for_each(|_| hive.spmd(3, |_| {}));
    (0..5).for_each(|_| hive.spmd(2, |_| {}));
    hive.spmd(1, |_| {});
    let stats = hive.stats();
    assert_eq!([0, 1, 2].map(|bee| stats[bee].regions), [15, 15, 10], "{stats}");
    assert_eq!(stats.total().regions, 40);
    assert_eq!(stats.per_bee().len(), 3);
}

#[test]
fn tasks_and_steals_are_counted_and_joins_that_nobody_helps_with_are_not() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    let ran = |hive: &Hive| hive.stats().total().tasks;
    let (sender, receiver) = mpsc::channel();
    for _ in 0..10 {
        let sender = sender.clone();
        hive.spawn(move || sender.send(()).unwrap());
    }
    assert_eq!(receiver.iter().take(10).count(), 10);
    assert_eq!((ran(&hive), hive.stats()[1].tasks), (10, 10), "the bee ran what the thread outside has spawned");
    let before = hive.stats();
    join_on_two_bees(&hive, || (), || ());
    let after = hive.stats();
    // The joins by which the caller waits for the other half may be helped with, too.
    let (tasks, steals) = (after[1].tasks - before[1].tasks, after[1].steals.total() - before[1].steals.total());
    assert!(tasks >= 1 && tasks == steals, "{tasks} tasks, {steals} steals: {after}");
    let alone = Hive::new(1).unwrap();
    fib_by_joins(&alone, 15);
    assert_eq!(ran(&alone), 0);
}

#[test]
fn bees_that_park_and_sleep_are_counted() {
    let _alone = run_exclusively();
    let hive = Hive::builder().bees(2).spin(Duration::ZERO).build().unwrap();
    let of_bee = || hive.stats()[1];
    wait_until(|| of_bee().sleeps > 0);
    let before = of_bee();
    hive.spmd(2, |_| {});
    assert_eq!((of_bee().wakes, of_bee().wakes_for_nothing), (before.wakes + 1, 0));
    hive.resize(1).unwrap();
    hive.wait_until_parked();
    assert_eq!((of_bee().parks, of_bee().cancelled_parks), (1, 0));
    hive.resize(2).unwrap();
    // This task keeps it from parking until it is needed again.
    let (sender, receiver) = mpsc::channel::<()>();
    hive.spawn_on(1, move || receiver.iter().for_each(drop));
    wait_until(|| of_bee().tasks == 1);
    hive.resize(1).unwrap();
    hive.resize(2).unwrap();
    assert_eq!((of_bee().parks, of_bee().cancelled_parks), (1, 1));
    drop(sender);
}

#[test]
fn sleepers_that_look_for_work_rescue_nothing_that_they_were_woken_for() {
    let _alone = run_exclusively();
    for protocol in PROTOCOLS {
        let hive = Hive::builder()
            .bees(3)
            .spin(Duration::ZERO)
            .poll(Some(Duration::from_micros(50)))
            .sleep(protocol)
            .build()
            .unwrap();
        let (sender, receiver) = mpsc::channel();
        for _ in 0..2_000 {
            let sender = sender.clone();
            hive.spawn(move || sender.send(()).unwrap());
            receiver.recv().unwrap();
        }
        assert_eq!(hive.stats().total().rescues, 0, "{protocol:?}: {}", hive.stats());
    }
}

#[test]
fn a_poll_without_a_pause_is_refused() {
    let error = Hive::builder().poll(Some(Duration::ZERO)).build().unwrap_err().to_string();
    assert!(error.contains("poll") && error.contains("None"), "{error}");
}
