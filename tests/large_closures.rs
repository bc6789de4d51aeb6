//! Closures that capture a megabyte, results that are nearly as large, and smaller values that are combined, on stacks
//! of the default size and also in a build without optimisation. Each runs in a process of its own, because a stack
//! overflow ends the process.

#![cfg(unix)]

mod common;

use std::env;
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;

use common::process::{is_child, rerun, run_in_child};
use common::{Gate, keep, run_exclusively, wait_until};
use hive::{Hive, Reduction, Scan, Schedule};

/// The size of what is captured.
const LARGE: usize = 1 << 20;
/// The size of what is returned. The function that returns it has one copy on the stack, and hive another.
const RESULT: usize = 3 << 18;

type Large = [u8; LARGE];

/// The size of what is copied several times on its way: a 64th of a worker's stack.
const MODERATE_LEN: usize = STACK / 64;
/// The stack of a worker, and of a thread that a program starts.
const STACK: usize = 2 << 20;

type Moderate = [u8; MODERATE_LEN];

/// An operation on a hive.
type Operation = fn(&'static Hive);

/// A function and not a constant, because a constant would not be on the stack.
fn large<const N: usize>() -> [u8; N] {
    [black_box(7); N]
}

#[track_caller]
fn assert_intact(large: &[u8]) {
    assert!(large.iter().all(|byte| *byte == 7));
}

const LARGE_OPERATIONS: [(&str, Operation); 8] = [
    ("spawn", |hive| {
        let (data, (sender, receiver)): (Large, _) = (large(), channel());
        hive.spawn(move || {
            assert_intact(&data);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
    }),
    ("spawn_on", |hive| {
        let (data, (sender, receiver)): (Large, _) = (large(), channel());
        hive.spawn_on(1, move || {
            assert_intact(&data);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
    }),
    ("a scope's task, on a bee", |hive| {
        let done = Gate::new();
        hive.scope(|scope| {
            let (data, done): (Large, _) = (large(), &done);
            scope.spawn(move |_| {
                assert_intact(&data);
                done.arrive();
            });
            wait_until(|| done.arrived() == 1);
        });
    }),
    ("a region", |hive| {
        let data: Large = large();
        hive.spmd(2, move |_| assert_intact(&data));
    }),
    ("install", |hive| {
        let data: Large = large();
        hive.install(move || assert_intact(&data));
    }),
    ("install, on a bee", |hive| {
        let (taken, free) = (Gate::new(), Gate::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                hive.install(|| {
                    taken.arrive();
                    free.wait_for(1);
                });
            });
            taken.wait_for(1);
            let data: Large = large();
            hive.install(move || assert_intact(&data));
            free.arrive();
        });
    }),
    ("spmd_map", |hive| hive.spmd_map(2, |_| large::<RESULT>()).iter().for_each(|result| assert_intact(result))),
    ("broadcast", |hive| hive.broadcast(|_| large::<RESULT>()).iter().for_each(|result| assert_intact(result))),
];

/// Operations whose values are combined by the bees or by the calling thread.
const MODERATE_OPERATIONS: [(&str, Operation); 13] = [
    ("join", |hive| {
        let (a, b) = hive.join(large::<MODERATE_LEN>, large::<MODERATE_LEN>);
        assert_intact(&a);
        assert_intact(&b);
    }),
    ("par_reduce, fixed", |hive| {
        assert_intact(&hive.par_reduce(
            (0..100, Schedule::Dynamic(1)),
            &Reduction::deterministic(large(), combine),
            make_moderate,
        ))
    }),
    ("par_reduce, per team", |hive| {
        assert_intact(&hive.par_reduce(
            (0..100, Schedule::Dynamic(1)),
            &Reduction::per_team_size(large(), combine),
            make_moderate,
        ));
    }),
    ("par_reduce, fast", |hive| {
        assert_intact(&hive.par_reduce(
            (0..100, Schedule::Dynamic(1)),
            &Reduction::unordered(large(), combine),
            make_moderate,
        ))
    }),
    ("par_reduce, a block each", |hive| {
        assert_intact(&hive.par_reduce(0..100, &Reduction::per_team_size(large(), combine), make_moderate));
    }),
    ("par_reduce by plan", |hive| {
        assert_intact(&hive.par_reduce(&hive.plan(100), &Reduction::deterministic(large(), combine), make_moderate));
        assert_intact(&hive.par_reduce(&hive.plan(100), &Reduction::per_team_size(large(), combine), make_moderate));
    }),
    ("combine", |_| {
        assert_intact(&Reduction::deterministic(large(), combine).combine((0..10).map(|i| make_moderate(i..i))))
    }),
    ("reduce_over, fixed", |hive| {
        let reduction = Reduction::deterministic(large(), combine);
        hive.spmd(2, |bee| assert_intact(&bee.reduce_over(0..100, &reduction, make_moderate)));
    }),
    ("reduce_over, per team", |hive| {
        let reduction = Reduction::per_team_size(large(), combine);
        hive.spmd(2, |bee| assert_intact(&bee.reduce_over(0..100, &reduction, make_moderate)));
    }),
    ("all_reduce and reduce", |hive| {
        hive.spmd(2, |bee| assert_intact(&bee.all_reduce(large(), combine)));
        hive.spmd(2, |bee| assert!(bee.reduce(large(), combine).is_some() == bee.is_queen()));
    }),
    ("scans", |hive| {
        hive.spmd(2, |bee| assert_intact(&bee.scan_inclusive(large(), combine)));
        hive.spmd(2, |bee| assert_intact(&bee.scan_exclusive(large(), large(), combine)));
    }),
    ("broadcast_from and single", |hive| {
        hive.spmd(2, |bee| assert_intact(&bee.broadcast_from(1, large::<MODERATE_LEN>)));
        hive.spmd(2, |bee| assert_intact(&bee.single(large::<MODERATE_LEN>)));
    }),
    ("par_scan", |hive| {
        let mut all = vec![large(); 10];
        hive.par_scan(&mut all, &Reduction::deterministic(large(), combine), Scan::Exclusive);
        hive.par_scan(&mut all, &Reduction::per_team_size(large(), combine), Scan::Inclusive);
        all.iter().for_each(|part| assert_intact(part));
    }),
];

fn make_moderate(_: std::ops::Range<usize>) -> Moderate {
    large()
}

fn combine(a: Moderate, _: Moderate) -> Moderate {
    a
}

/// Selects the operation of a process of its own.
const CASE_VARIABLE: &str = "HIVE_TEST_CASE";

#[test]
fn large_closures_and_results_fit_on_a_bee_s_stack() {
    // As large as the stack of a program's main thread usually is.
    assert_fit("large_closures_and_results_fit_on_a_bee_s_stack", &LARGE_OPERATIONS, 8 << 20);
}

#[test]
fn values_of_moderate_size_can_be_combined() {
    assert_fit("values_of_moderate_size_can_be_combined", &MODERATE_OPERATIONS, STACK);
}

/// Checks that each of `verbs` succeeds on a thread with a stack of this many bytes.
#[track_caller]
fn assert_fit(test: &str, verbs: &[(&str, Operation)], stack: usize) {
    if is_child() {
        let (_, verb) = verbs[env::var(CASE_VARIABLE).unwrap().parse::<usize>().unwrap()];
        let hive: &'static Hive = keep(Hive::new(2).unwrap());
        let caller = thread::Builder::new().stack_size(stack).spawn(move || verb(hive)).unwrap();
        run_in_child(|| caller.join().unwrap());
    }
    let _alone = run_exclusively();
    let ended = |number: usize| rerun(test, &[(CASE_VARIABLE, &number.to_string())]);
    let failures: Vec<_> =
        (0..verbs.len()).filter_map(|number| Some((verbs[number].0, ended(number).err()?))).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
