//! Closures that capture a megabyte, and results nearly as large, and smaller values that are combined, on stacks as large as they are by default, in a build without optimisation too. Each in a process of its own: a stack that
//! overflows ends it.

#![cfg(unix)]

mod common;

use std::env;
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;

use common::process::{again, is_the_other, run_and_exit};
use common::{Gate, alone, until};
use hive::{Hive, Reduction, Scan, Schedule};

/// What is captured.
const LARGE: usize = 1 << 20;
/// What is returned: a copy of that is the function's that returns it, and one is hive's.
const RESULT: usize = 3 << 18;

type Large = [u8; LARGE];

/// What is copied several times on its way: a part in 64 of a bee's stack.
const PART: usize = STACK / 64;
/// That of a bee, and of a thread that a program makes.
const STACK: usize = 2 << 20;

type Part = [u8; PART];

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

/// Whose values the members or the calling thread combine.
const OF_MODERATE_SIZE: [(&str, Verb); 13] = [
    ("join", |hive| {
        let (a, b) = hive.join(large::<PART>, large::<PART>);
        assert_whole(&a);
        assert_whole(&b);
    }),
    ("par_reduce, fixed", |hive| {
        assert_whole(&hive.par_reduce(0..100, Schedule::Dynamic(1), &Reduction::fixed(large(), either), part))
    }),
    ("par_reduce, per team", |hive| {
        assert_whole(&hive.par_reduce(0..100, Schedule::Dynamic(1), &Reduction::per_team(large(), either), part));
    }),
    ("par_reduce, fast", |hive| {
        assert_whole(&hive.par_reduce(0..100, Schedule::Dynamic(1), &Reduction::fast(large(), either), part))
    }),
    ("par_reduce, a block each", |hive| {
        assert_whole(&hive.par_reduce(0..100, Schedule::Static, &Reduction::per_team(large(), either), part));
    }),
    ("par_reduce_plan", |hive| {
        assert_whole(&hive.par_reduce_plan(&hive.plan(100), &Reduction::fixed(large(), either), part));
        assert_whole(&hive.par_reduce_plan(&hive.plan(100), &Reduction::per_team(large(), either), part));
    }),
    ("combine", |_| assert_whole(&Reduction::fixed(large(), either).combine((0..10).map(|i| part(i..i))))),
    ("reduce_over, fixed", |hive| {
        let reduction = Reduction::fixed(large(), either);
        hive.spmd(2, |bee| assert_whole(&bee.reduce_over(0..100, &reduction, part)));
    }),
    ("reduce_over, per team", |hive| {
        let reduction = Reduction::per_team(large(), either);
        hive.spmd(2, |bee| assert_whole(&bee.reduce_over(0..100, &reduction, part)));
    }),
    ("all_reduce and reduce", |hive| {
        hive.spmd(2, |bee| assert_whole(&bee.all_reduce(large(), either)));
        hive.spmd(2, |bee| assert!(bee.reduce(large(), either).is_some() == bee.is_queen()));
    }),
    ("scans", |hive| {
        hive.spmd(2, |bee| assert_whole(&bee.scan_inclusive(large(), either)));
        hive.spmd(2, |bee| assert_whole(&bee.scan_exclusive(large(), large(), either)));
    }),
    ("broadcast_from and single", |hive| {
        hive.spmd(2, |bee| assert_whole(&bee.broadcast_from(1, large::<PART>)));
        hive.spmd(2, |bee| assert_whole(&bee.single(large::<PART>)));
    }),
    ("par_scan", |hive| {
        let mut all = vec![large(); 10];
        hive.par_scan(&mut all, &Reduction::fixed(large(), either), Scan::Exclusive);
        hive.par_scan(&mut all, &Reduction::per_team(large(), either), Scan::Inclusive);
        all.iter().for_each(|part| assert_whole(part));
    }),
];

fn part(_: std::ops::Range<usize>) -> Part {
    large()
}

fn either(a: Part, _: Part) -> Part {
    a
}

/// Which of them a process of its own is for.
const CASE: &str = "HIVE_TEST_CASE";

#[test]
fn large_closures_and_results_fit_on_a_bee_s_stack() {
    // As large as a program's main thread usually has.
    assert_fit("large_closures_and_results_fit_on_a_bee_s_stack", &VERBS, 8 << 20);
}

#[test]
fn values_of_moderate_size_can_be_combined() {
    assert_fit("values_of_moderate_size_can_be_combined", &OF_MODERATE_SIZE, STACK);
}

/// Each of `verbs` ends well on a thread with a stack of so many bytes.
#[track_caller]
fn assert_fit(test: &str, verbs: &[(&str, Verb)], stack: usize) {
    if is_the_other() {
        let (_, verb) = verbs[env::var(CASE).unwrap().parse::<usize>().unwrap()];
        let hive: &'static Hive = Box::leak(Box::new(Hive::new(2).unwrap()));
        let caller = thread::Builder::new().stack_size(stack).spawn(move || verb(hive)).unwrap();
        run_and_exit(|| caller.join().unwrap());
    }
    let _alone = alone();
    let ended = |number: usize| again(test, &[(CASE, &number.to_string())]);
    let failures: Vec<_> = (0..verbs.len()).filter_map(|number| Some((verbs[number].0, ended(number).err()?))).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
