//! Hives whose limit is one bee, the queen. A worker that does not count as a bee of the team runs what the queen
//! cannot.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use common::task_helpers::{builders, fib_by_joins};
use common::{Gate, assert_contains_all, panic_message, proc_threads, run_exclusively, silence_panics, wait_until};
use hive::{Builder, Hive, Stats};

/// The name of these hives' threads.
const THREAD_NAME: &str = "her-bee";

/// Builders of such hives, of each kind.
fn single_bee_builders() -> impl Iterator<Item = Builder> {
    builders().map(|builder| builder.bees(1).max_bees(1).thread_name(THREAD_NAME))
}

/// Runs `part` with a hive of each kind that has no worker yet, and with one that has.
fn with_each(part: impl Fn(&Hive)) {
    for builder in single_bee_builders() {
        let hive = builder.build().unwrap();
        part(&hive);
        assert_alone(&hive);
        part(&hive);
        assert_alone(&hive);
    }
}

/// The hive is as asked for, whatever its worker has done: one bee, which runs regions by herself.
#[track_caller]
fn assert_alone(hive: &Hive) {
    hive.wait_until_parked();
    assert_eq!((hive.bees(), hive.max_bees(), hive.bees_not_yet_tucked_in()), (1, 1, 0));
    assert_eq!(hive.spmd_map(1, |bee| (bee.id(), bee.bees())), [(0, 1)]);
    assert_contains_all(&hive.try_spmd(2, |_| ()).unwrap_err().to_string(), &["2 bees", "limit is 1"]);
    assert_contains_all(&hive.resize(2).unwrap_err().to_string(), &["2 bees", "limit is 1"]);
    hive.resize(1).unwrap();
    assert!(hive.broadcast(|bee| bee).is_empty(), "no bee is a bee");
    assert_eq!(hive.places().len(), 1);
}

/// A task, and a receiver that gets the number of the bee that has run it.
fn reporting_task() -> (impl FnOnce() + Send + 'static, Receiver<Option<usize>>) {
    let (sender, receiver) = channel();
    (move || sender.send(hive::current().map(|bee| bee.id)).unwrap(), receiver)
}

/// Runs `part` on another thread while a region has the queen's position.
fn while_queen_lock_is_held<R: Send>(hive: &Hive, part: impl FnOnce() -> R + Send) -> R {
    let (taken, done) = (Gate::new(), Gate::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            hive.install(|| {
                taken.arrive();
                done.wait_for(1);
            });
        });
        taken.wait_for(1);
        let result = scope.spawn(part).join();
        done.arrive();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn what_is_spawned_is_run_by_a_bee() {
    let _alone = run_exclusively();
    with_each(|hive| {
        for _ in 0..100 {
            let (task, heard) = reporting_task();
            hive.spawn(task);
            assert_eq!(heard.recv(), Ok(Some(1)));
        }
    });
}

#[test]
fn what_is_spawned_in_the_queen_s_place_and_by_a_task_is_run_by_a_bee() {
    let _alone = run_exclusively();
    for builder in single_bee_builders() {
        let hive = Arc::new(builder.build().unwrap());
        let (sender, receiver) = channel();
        let task = {
            let (own, sender) = (Arc::clone(&hive), sender.clone());
            move || {
                let third = Arc::clone(&own);
                own.spawn(move || sender.send(third).unwrap());
            }
        };
        hive.install(|| hive.spawn(task));
        hive.spmd(1, |_| {
            let sender = sender.clone();
            let own = Arc::clone(&hive);
            hive.spawn(move || sender.send(own).unwrap());
        });
        drop(sender);
        assert_eq!(receiver.iter().count(), 2);
        assert_alone(&hive);
    }
}

#[test]
fn a_bee_that_has_not_been_hired_gets_no_mail_and_one_that_has_gets_it() {
    let _alone = run_exclusively();
    silence_panics("no such bee");
    for builder in single_bee_builders() {
        let hive = builder.build().unwrap();
        for bee in [0, 1, 2] {
            assert_contains_all(
                &panic_message(|| hive.spawn_on(bee, || ())),
                &["spawn_on", "a hive of 1 has no such bee"],
            );
        }
        let (task, heard) = reporting_task();
        hive.spawn(task);
        assert_eq!(heard.recv(), Ok(Some(1)));
        let (task, heard) = reporting_task();
        hive.spawn_on(1, task);
        assert_eq!(heard.recv(), Ok(Some(1)));
        assert_contains_all(&panic_message(|| hive.spawn_on(2, || ())), &["a hive of 1 has no such bee"]);
        assert_alone(&hive);
    }
}

#[test]
fn joins_and_scopes_run_in_her_place() {
    let _alone = run_exclusively();
    with_each(|hive| {
        assert_eq!(fib_by_joins(hive, 10), 55);
        let sum = &AtomicUsize::new(0);
        hive.scope(|scope| {
            (1..=10).for_each(|number| scope.spawn(move |_| _ = sum.fetch_add(number, Ordering::Relaxed)))
        });
        assert_eq!(sum.load(Ordering::Relaxed), 55);
        assert_eq!(hive.install(|| hive.spmd_map(1, |bee| bee.bees())), [1]);
    });
}

#[test]
fn callers_who_find_her_place_taken_wait_for_a_bee() {
    let _alone = run_exclusively();
    with_each(|hive| {
        assert_eq!(while_queen_lock_is_held(hive, || hive.join(hive::current, hive::current).0.unwrap().id), 1);
        assert_eq!(while_queen_lock_is_held(hive, || fib_by_joins(hive, 10)), 55);
        let count = AtomicUsize::new(0);
        let one = || _ = count.fetch_add(1, Ordering::Relaxed);
        while_queen_lock_is_held(hive, || hive.scope(|scope| (0..10).for_each(|_| scope.spawn(|_| one()))));
        while_queen_lock_is_held(hive, || hive.install(|| (0..10).for_each(|_| one())));
        while_queen_lock_is_held(hive, || hive.install(|| hive.spmd(1, |_| one())));
        assert_eq!(count.into_inner(), 21);
        assert!(while_queen_lock_is_held(hive, || hive.broadcast(|bee| bee)).is_empty());
    });
}

#[test]
fn inside_regions_and_tasks_of_others_it_is_as_any_hive() {
    let _alone = run_exclusively();
    let other = Hive::new(2).unwrap();
    with_each(|hive| {
        let sums = other.spmd_map(2, |_| {
            let (sender, receiver) = channel();
            hive.spawn(move || sender.send(1).unwrap());
            let (a, b) = hive.join(|| 10, || 100);
            a + b + hive.install(|| 1_000) + receiver.recv().unwrap()
        });
        assert_eq!(sums, [1_111; 2]);
    });
}

#[test]
fn a_drop_runs_what_is_queued_and_leaves_no_thread() {
    let _alone = run_exclusively();
    let ran = Arc::new(AtomicUsize::new(0));
    for builder in single_bee_builders() {
        for tasks in [0, 1, 2, 100] {
            let hive = builder.clone().build().unwrap();
            for number in 0..tasks {
                let ran = Arc::clone(&ran);
                let task = move || _ = ran.fetch_add(1, Ordering::Relaxed);
                match number % 3 {
                    1 => hive.spawn_on(1, task),
                    2 => hive.install(|| hive.spawn(task)),
                    _ => hive.spawn(task),
                }
            }
            drop(hive);
            assert_eq!(ran.swap(0, Ordering::Relaxed), tasks);
            proc_threads::wait_until_ended(THREAD_NAME);
        }
    }
}

#[test]
fn a_task_may_drop_the_hive() {
    let _alone = run_exclusively();
    for builder in single_bee_builders() {
        for _ in 0..20 {
            let hive = Arc::new(builder.clone().build().unwrap());
            let (sender, receiver) = channel();
            for _ in 0..3 {
                let (own, sender) = (Arc::clone(&hive), sender.clone());
                hive.spawn(move || {
                    drop(own);
                    sender.send(()).unwrap();
                });
            }
            drop((hive, sender));
            assert_eq!(receiver.iter().count(), 3);
        }
    }
    proc_threads::wait_until_ended(THREAD_NAME);
}

#[test]
fn panics_in_what_the_bee_runs_go_where_they_should() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let hive =
        Hive::builder().bees(1).max_bees(1).panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap());
    let hive = hive.build().unwrap();
    hive.spawn(|| panic!("as expected"));
    assert_eq!(receiver.recv().unwrap().downcast_ref(), Some(&"as expected"));
    let refused = || panic_message(|| hive.install(|| panic!("as expected")));
    assert_eq!(while_queen_lock_is_held(&hive, refused), "as expected");
    assert_alone(&hive);
}

#[test]
fn its_work_is_counted_and_seen() {
    let _alone = run_exclusively();
    let trace = std::env::temp_dir().join(format!("hive-lone-{}.json", std::process::id()));
    for builder in single_bee_builders() {
        let watched = builder.deadlock_watchdog(Some(std::time::Duration::from_secs(60))).trace(&trace);
        let hive = watched.build().unwrap();
        assert_eq!(hive.stats().per_bee().len(), 1, "nobody has been hired");
        let (task, heard) = reporting_task();
        hive.spawn(task);
        heard.recv().unwrap();
        let tasks = |stats: &Stats| stats[1].tasks;
        wait_until(|| tasks(&hive.stats()) == 1);
        assert_eq!(hive.stats().per_bee().len(), 2);
        assert_contains_all(&hive.report().to_string(), &["1, the queen among them; may grow to 1"]);
        let file = hive.write_trace().unwrap();
        drop(hive);
        assert_contains_all(&std::fs::read_to_string(&file).unwrap(), &["bee 1", "\"task\""]);
        std::fs::remove_file(file).unwrap();
    }
}
