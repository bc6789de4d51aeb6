//! Closures that capture a megabyte, and results nearly as large, on stacks as large as they are by default, in a build without optimisation too. Each in a process of its own: a stack that
//! overflows ends it.

#![cfg(unix)]

mod common;

use std::env;
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;

use common::process::{again, is_the_other, run_and_exit};
use common::{Gate, alone, until};
use hive::Hive;

/// What is captured.
const LARGE: usize = 1 << 20;
/// What is returned: a copy of that is the function's that returns it, and one is hive's.
const RESULT: usize = 3 << 18;

type Large = [u8; LARGE];

/// What is done with a hive.
type Verb = fn(&'static Hive);

/// Not a constant, which would be elsewhere than on the stack.
fn large<const N: usize>() -> [u8; N] {
    [black_box(7); N]
}

#[track_caller]
fn assert_whole(large: &[u8]) {
    assert!(large.iter().all(|byte| *byte == 7));
}

const VERBS: [(&str, Verb); 8] = [
    ("spawn", |hive| {
        let (data, (sender, receiver)): (Large, _) = (large(), channel());
        hive.spawn(move || {
            assert_whole(&data);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
    }),
    ("spawn_on", |hive| {
        let (data, (sender, receiver)): (Large, _) = (large(), channel());
        hive.spawn_on(1, move || {
            assert_whole(&data);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
    }),
    ("a scope's task, on a bee", |hive| {
        let done = Gate::new();
        hive.scope(|scope| {
            let (data, done): (Large, _) = (large(), &done);
            scope.spawn(move |_| {
                assert_whole(&data);
                done.come();
            });
            until(|| done.here() == 1);
        });
    }),
    ("a region", |hive| {
        let data: Large = large();
        hive.spmd(2, move |_| assert_whole(&data));
    }),
    ("install", |hive| {
        let data: Large = large();
        hive.install(move || assert_whole(&data));
    }),
    ("install, on a bee", |hive| {
        let (taken, free) = (Gate::new(), Gate::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                hive.install(|| {
                    taken.come();
                    free.wait_for(1);
                });
            });
            taken.wait_for(1);
            let data: Large = large();
            hive.install(move || assert_whole(&data));
            free.come();
        });
    }),
    ("spmd_map", |hive| hive.spmd_map(2, |_| large::<RESULT>()).iter().for_each(|result| assert_whole(result))),
    ("broadcast", |hive| hive.broadcast(|_| large::<RESULT>()).iter().for_each(|result| assert_whole(result))),
];

/// Which of them a process of its own is for.
const CASE: &str = "HIVE_TEST_CASE";

#[test]
fn large_closures_and_results_fit_on_a_bee_s_stack() {
    const TEST: &str = "large_closures_and_results_fit_on_a_bee_s_stack";
    if is_the_other() {
        let (_, verb) = VERBS[env::var(CASE).unwrap().parse::<usize>().unwrap()];
        let hive: &'static Hive = Box::leak(Box::new(Hive::new(2).unwrap()));
        // As large as a program's main thread usually has.
        let caller = thread::Builder::new().stack_size(8 << 20).spawn(move || verb(hive)).unwrap();
        run_and_exit(|| caller.join().unwrap());
    }
    let _alone = alone();
    let ended = |number: usize| again(TEST, &[(CASE, &number.to_string())]);
    let failures: Vec<_> = (0..VERBS.len()).filter_map(|number| Some((VERBS[number].0, ended(number).err()?))).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
