//! orx-parallel's iterators on a hive.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hive::Hive;
use orx_parallel::{IntoParIter, Par, ParCollection, Parallelizable, Runner, TaskQueue, ThreadPool, tasks};

use common::task_helpers::{DropCounter, Payload, payload_of};
use common::{assert_hive_works, run_exclusively, silence_panics, wait_until};

fn hives() -> impl Iterator<Item = Hive> {
    (1..=5).map(|bees| Hive::new(bees).unwrap())
}

#[test]
fn results_are_right_for_any_length_and_size() {
    let _alone = run_exclusively();
    for hive in hives() {
        for len in [0, 1, 2, 3, 7, 1_000, 100_003_u64] {
            let input: Vec<u64> = (0..len).collect();
            let sum = input.par().runner(Runner::fixed_with_pool(&hive)).map(|number| number + 1).sum();
            assert_eq!(sum, len * (len + 1) / 2, "{len} on {hive:?}");
            let even: Vec<_> =
                input.into_par().runner(Runner::fixed_with_pool(&hive)).filter(|number| number % 2 == 0).collect();
            assert!(even.into_iter().eq((0..len).step_by(2)));
        }
        let found = (0..100_000).par().runner(Runner::fixed_with_pool(&hive)).filter(|number| *number >= 777).first();
        assert_eq!(found, Some(777));
    }
}

#[test]
fn it_takes_as_many_bees_as_the_hive_has_or_fewer() {
    let _alone = run_exclusively();
    let hive = Hive::new(3).unwrap();
    for wanted in [3, 2] {
        assert_eq!((&hive).max_num_threads().get(), 3);
        let tids = Mutex::new(BTreeSet::new());
        // Each waits for all others, and no task is ever begun by one who waits.
        (0..wanted).par().runner(Runner::fixed_with_pool(&hive)).num_threads(wanted).chunk_size(1).for_each(|_| {
            tids.lock().unwrap().insert(hive::current().expect("a bee").id);
            wait_until(|| tids.lock().unwrap().len() == wanted);
        });
    }
    hive.resize(1).unwrap();
    assert_eq!((&hive).max_num_threads().get(), 1);
    assert_eq!((0..1_000).par().runner(Runner::fixed_with_pool(&hive)).sum(), 499_500);
}

#[test]
fn tasks_of_a_scope_run_each_once() {
    let _alone = run_exclusively();
    for hive in hives() {
        let runs = [const { AtomicUsize::new(0) }; 3];
        let run = |number: usize| {
            runs[number].fetch_add(1, Ordering::Relaxed);
        };
        (&hive).run_all(tasks![|| run(0), || run(1), || run(2)]);
        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn a_panic_reaches_the_caller_and_each_item_ends_once() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for hive in hives() {
        let ends: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        let items: Vec<_> = ends.iter().enumerate().map(|(number, end)| (number, DropCounter(end))).collect();
        let part = |(number, _)| {
            if number == 50 {
                std::panic::panic_any(Payload("an item's"));
            }
        };
        assert_eq!(payload_of(|| items.into_par().runner(Runner::fixed_with_pool(&hive)).for_each(part)), "an item's");
        assert!(ends.iter().all(|end| end.load(Ordering::Relaxed) == 1), "{ends:?}");
        assert_hive_works(&hive, hive.bees());
    }
}

#[test]
fn inside_a_region_and_a_task_and_beside_another_thread() {
    let _alone = run_exclusively();
    for hive in hives() {
        let sum = || (0..1_000).par().runner(Runner::fixed_with_pool(&hive)).sum();
        hive.spmd(hive.bees(), |_| assert_eq!(sum(), 499_500));
        assert_eq!(hive.join(sum, sum), (499_500, 499_500));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(sum(), 499_500));
            }
        });
    }
}
