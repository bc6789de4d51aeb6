//! rayon's workers on a hive's own threads: how hives with them are built, and end.

#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod guest;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use hive::Hive;

use common::process::in_own_process;
use common::sys::{fork, limit_data};
use common::task_helpers::Payload;
use common::{
    Gate, assert_contains_all, assert_hive_works, panic_message, proc_threads, run_exclusively, silence_panics,
    wait_until,
};
use guest::{host, on_a_thread, sum, tids_of_all_workers};

#[test]
fn a_thread_builds_one_such_hive_and_says_why_not_another() {
    let _alone = run_exclusively();
    on_a_thread(|| {
        let refused = |bees: usize| {
            let error = host(bees).build().unwrap_err();
            assert_contains_all(&error.to_string(), &["rayon", "worker", "thread of its own", "host_rayon"]);
            assert!(std::error::Error::source(&error).is_some());
        };
        let first = host(2).build().unwrap();
        refused(2);
        // Others are as ever, and other threads may.
        assert_hive_works(&Hive::new(2).unwrap(), 2);
        on_a_thread(|| {
            let second = host(3).build().unwrap();
            assert_eq!(second.rayon(3, || tids_of_all_workers(3)).len(), 3);
            let both = || first.rayon(2, || (sum(100), rayon::current_num_threads()));
            assert_eq!(second.rayon(3, || (rayon::current_num_threads(), both())), (3, (4950, 2)));
        });
        assert_eq!(first.rayon(2, || sum(100)), 4950);
        drop(first);
        refused(1);
        // What is left of its pool is this thread.
        assert_eq!(sum(100), 4950);
    });
}

#[test]
fn a_worker_of_another_pool_cannot_host_but_may_call() {
    let _alone = run_exclusively();
    on_a_thread(|| {
        let hive = host(2).build().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            assert_contains_all(&host(2).build().unwrap_err().to_string(), &["rayon", "thread of its own"]);
            assert_eq!(hive.rayon(2, || sum(100)), 4950);
        });
        // And the other way round.
        assert_eq!(hive.rayon(2, || pool.install(|| sum(100))), 4950);
    });
}

#[test]
fn without_rayon_on_its_threads_a_hive_says_how_to_have_it() {
    let _alone = run_exclusively();
    let hive = Hive::new(2).unwrap();
    assert_contains_all(&panic_message(|| hive.rayon(2, || ())), &["host_rayon(true)"]);
    on_a_thread(|| {
        let hive = host(2).max_bees(3).build().unwrap();
        assert_contains_all(&panic_message(|| hive.rayon(0, || ())), &["0 bees were asked for"]);
        assert_eq!(hive.rayon(100, || sum(100)), 4950);
    });
}

#[test]
fn no_thread_is_left_and_what_was_spawned_has_run() {
    in_own_process("no_thread_is_left_and_what_was_spawned_has_run", || {
        let threads = proc_threads::count();
        for round in 0..60 {
            on_a_thread(|| {
                let bees = 1 + round % 4;
                let hive = host(bees).build().unwrap();
                let ran = Arc::new(AtomicUsize::new(0));
                let spawn = || {
                    let ran = Arc::clone(&ran);
                    rayon::spawn(move || {
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                };
                // In the call, after it, in regions and on bees.
                hive.rayon(bees, || (0..10).for_each(|_| spawn()));
                (0..10).for_each(|_| spawn());
                hive.spmd(bees, |_| spawn());
                drop(hive.broadcast(|_| spawn()));
                if round % 3 == 0 {
                    hive.resize(1).unwrap();
                }
                drop(hive);
                assert_eq!(ran.load(Ordering::Relaxed), 20 + bees + bees - 1, "{bees}");
            });
            wait_until(|| proc_threads::count() == threads);
        }
    });
}

#[test]
fn dropped_by_another_thread_or_by_a_bee_of_its_own() {
    in_own_process("dropped_by_another_thread_or_by_a_bee_of_its_own", || {
        let threads = proc_threads::count();
        for round in 0..40 {
            on_a_thread(|| {
                let hive = host(2 + round % 3).build().unwrap();
                assert_eq!(hive.rayon(2, || sum(100)), 4950);
                if round % 2 == 0 {
                    on_a_thread(|| drop(hive));
                    return;
                }
                let hive = Arc::new(hive);
                let (its, (sender, receiver)) = (Arc::clone(&hive), mpsc::channel());
                let begun = Arc::new(Gate::new());
                let waits = Arc::clone(&begun);
                hive.spawn(move || {
                    waits.arrive_and_wait(2);
                    // The last one, since the other has gone.
                    drop(Arc::into_inner(its).expect("the other is gone"));
                    sender.send(sum(100)).unwrap();
                });
                drop(hive);
                begun.arrive_and_wait(2);
                assert_eq!(receiver.recv(), Ok(4950));
            });
            wait_until(|| proc_threads::count() == threads);
        }
    });
}

#[test]
fn a_hive_that_cannot_be_built_leaves_no_thread() {
    in_own_process("a_hive_that_cannot_be_built_leaves_no_thread", || {
        let threads = proc_threads::count();
        on_a_thread(|| assert!(host(3).stack_size(1 << 50).build().is_err()));
        wait_until(|| proc_threads::count() == threads);
        // With some of its bees hired already.
        let stack = 64 << 20;
        limit_data(1 << 30);
        let error = on_a_thread(|| host(1_000).stack_size(stack).build().map(drop).unwrap_err());
        assert_contains_all(&error.to_string(), &["made no thread for bee"]);
        wait_until(|| proc_threads::count() == threads);
    });
}

#[test]
fn the_panic_of_what_was_spawned_is_the_panic_handler_s() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    on_a_thread(|| {
        let (sender, receiver) = mpsc::channel();
        let sender = Mutex::new(sender);
        let hive = host(2).panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap()).build().unwrap();
        hive.rayon(2, || rayon::spawn(|| std::panic::panic_any(Payload("nobody's"))));
        drop(hive);
        assert_eq!(receiver.recv().unwrap().downcast_ref(), Some(&Payload("nobody's")));
    });
}

#[test]
fn in_a_forked_child_it_is_an_error_and_other_hives_work() {
    in_own_process("in_a_forked_child_it_is_an_error_and_other_hives_work", || {
        let hive = host(3).build().unwrap();
        assert_eq!(hive.rayon(3, || sum(100)), 4950);
        fork(|| {
            assert_contains_all(&panic_message(|| hive.rayon(3, || ())), &["forked"]);
            assert_hive_works(&Hive::new(2).unwrap(), 2);
            assert!(host(2).build().is_err());
            on_a_thread(|| assert_eq!(host(2).build().unwrap().rayon(2, || tids_of_all_workers(2)).len(), 2));
            // What waits for itself alone still runs, on this one thread.
            assert_eq!(sum(100), 4950);
        })
        .join();
        assert_eq!(hive.rayon(3, || tids_of_all_workers(3)).len(), 3);
        let ran = Arc::new(AtomicUsize::new(0));
        let job = Arc::clone(&ran);
        rayon::spawn(move || {
            job.fetch_add(1, Ordering::Relaxed);
        });
        let childs = &ran;
        fork(move || {
            drop(hive);
            assert_eq!(childs.load(Ordering::Relaxed), 0, "what was spawned is the parent's to run");
        })
        .join();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
    });
}
