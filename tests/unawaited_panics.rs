//! Panics in handlers, and in tasks that no thread waits for: they go to the panic handler, or end the process.

#![cfg(target_os = "linux")]

mod common;

use std::panic::panic_any;
use std::sync::{Arc, Mutex, mpsc};

use common::process::aborts_in_own_process;
use common::task_helpers::{assert_hive_and_tasks_work, builders, fib_by_joins};
use common::{Gate, assert_contains_all, run_exclusively, silence_panics};
use hive::Hive;

#[test]
fn handlers_hear_of_bees_and_of_panics_that_nobody_else_hears_of() {
    type List = Arc<Mutex<Vec<usize>>>;
    let _alone = run_exclusively();
    silence_panics("nobody waits");
    let [starts, exits, panics] = [(); 3].map(|()| List::default());
    let note = |list: &List| {
        let list = list.clone();
        move |bee| {
            list.lock().unwrap().push(bee);
            assert_ne!(bee, 2, "nobody waits for handlers");
        }
    };
    let heard = panics.clone();
    let hive = Hive::builder()
        .bees(3)
        .start_handler(note(&starts))
        .exit_handler(note(&exits))
        .panic_handler(move |panic| heard.lock().unwrap().push(usize::from(panic.is::<String>())))
        .build()
        .unwrap();
    hive.spawn(|| panic!("nobody waits"));
    hive.spawn_on(1, || panic!("nobody waits"));
    assert_eq!(fib_by_joins(&hive, 10), 55);
    drop(hive);
    let sorted = |list: &List| {
        let mut list = list.lock().unwrap().clone();
        list.sort_unstable();
        list
    };
    assert_eq!((sorted(&starts), sorted(&exits)), (vec![1, 2], vec![1, 2]));
    assert_eq!(sorted(&panics), [0, 0, 1, 1], "two tasks, two handlers");
}

#[test]
fn the_panic_handler_gets_each_payload_once_and_what_the_tasks_captured_is_dropped() {
    let _alone = run_exclusively();
    silence_panics("as expected");
    for builder in builders() {
        let (sender, receiver) = mpsc::channel();
        let handler = {
            let sender = Mutex::new(sender);
            move |panic| sender.lock().unwrap().send(panic).unwrap()
        };
        let captured = Arc::new(());
        let hive = Arc::new(builder.bees(3).panic_handler(handler).build().unwrap());
        for number in 0..100_usize {
            let captured = Arc::clone(&captured);
            let task = move || {
                let _captured = captured;
                panic_any(number);
            };
            match number % 4 {
                0 => hive.spawn(task),
                1 => hive.spawn_on(1 + number % 2, task),
                2 => hive.install(|| hive.spawn(task)),
                _ => {
                    // By a bee, which does not catch the panic.
                    let (own, spawned) = (Arc::clone(&hive), Arc::new(Gate::new()));
                    let gate = Arc::clone(&spawned);
                    hive.spawn(move || {
                        own.spawn(task);
                        drop(own);
                        gate.arrive();
                    });
                    spawned.wait_for(1);
                }
            }
        }
        assert_hive_and_tasks_work(&hive, 3);
        let hive = Arc::into_inner(hive).expect("the bees have dropped theirs");
        drop(hive);
        let mut numbers: Vec<_> = receiver.iter().map(|panic| *panic.downcast::<usize>().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100));
        assert_eq!(Arc::strong_count(&captured), 1);
    }
}

#[test]
fn without_a_panic_handler_a_panic_that_nobody_hears_of_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_panic_that_nobody_hears_of_aborts", || {
        let hive = Hive::new(2).unwrap();
        hive.spawn(|| panic!("nobody waits for this"));
        drop(hive);
    });
    assert_contains_all(&output, &["nobody waits for this"]);
}

#[test]
fn without_a_panic_handler_a_panic_of_mail_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_panic_of_mail_aborts", || {
        let hive = Hive::new(2).unwrap();
        hive.spawn_on(1, || panic!("nobody waits for this"));
        drop(hive);
    });
    assert_contains_all(&output, &["nobody waits for this"]);
}

#[test]
fn a_panic_handler_that_panics_aborts() {
    let output = aborts_in_own_process("a_panic_handler_that_panics_aborts", || {
        let hive = Hive::builder().bees(2).panic_handler(|_| panic!("nor does the handler")).build().unwrap();
        hive.spawn(|| panic!("nobody waits for this"));
        drop(hive);
    });
    assert_contains_all(&output, &["nobody waits for this", "nor does the handler"]);
}

#[test]
fn without_a_panic_handler_a_start_handler_that_panics_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_a_start_handler_that_panics_aborts", || {
        let hive = Hive::builder().bees(2).start_handler(|bee| panic!("bee {bee} does not start")).build().unwrap();
        drop(hive);
    });
    assert_contains_all(&output, &["bee 1 does not start"]);
}

#[test]
fn without_a_panic_handler_an_exit_handler_that_panics_aborts() {
    let output = aborts_in_own_process("without_a_panic_handler_an_exit_handler_that_panics_aborts", || {
        let hive = Hive::builder().bees(2).exit_handler(|bee| panic!("bee {bee} does not end")).build().unwrap();
        assert_hive_and_tasks_work(&hive, 2);
        drop(hive);
    });
    assert_contains_all(&output, &["bee 1 does not end"]);
}
