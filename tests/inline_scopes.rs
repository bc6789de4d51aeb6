//! Scopes whose tasks only the calling thread may run, because it is inside of another hive and the scope's own hive is
//! busy: everything that a program may do in a scope works there too.

#![cfg(target_os = "linux")]

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::process::in_own_process;
use common::{Gate, panic_message, silence_panics, wait_until};
use hive::{Hive, Scope};

/// Calls `body` inside of a region of one hive, with another hive that is busy.
fn with_a_busy_hive(body: impl Fn(&Hive) + Sync) {
    let [outer, busy] = [(); 2].map(|()| Hive::new(2).unwrap());
    let [taken, ended] = [(); 2].map(|()| Gate::new());
    thread::scope(|threads| {
        threads.spawn(|| {
            busy.install(|| {
                taken.arrive();
                ended.wait_for(1);
            });
        });
        taken.wait_for(1);
        outer.spmd(2, |bee| {
            if bee.is_queen() {
                body(&busy);
            }
        });
        ended.arrive();
    });
}

#[test]
fn a_task_may_take_a_lock_that_its_spawner_holds() {
    in_own_process("a_task_may_take_a_lock_that_its_spawner_holds", || {
        with_a_busy_hive(|busy| {
            let sum = Mutex::new(0);
            busy.scope(|scope| {
                let mut held = sum.lock().unwrap();
                (0..3).for_each(|_| scope.spawn(|_| *sum.lock().unwrap() += 1));
                *held += 10;
            });
            assert_eq!(sum.into_inner().unwrap(), 13);
        });
    });
}

#[test]
fn a_chain_of_tasks_may_be_long() {
    fn spawn_chain<'s>(scope: &Scope<'s>, ran: &'s AtomicUsize, left: usize) {
        ran.fetch_add(1, Ordering::Relaxed);
        if left > 0 {
            scope.spawn(move |scope| spawn_chain(scope, ran, left - 1));
        }
    }
    in_own_process("a_chain_of_tasks_may_be_long", || {
        with_a_busy_hive(|busy| {
            let ran = AtomicUsize::new(0);
            busy.scope(|scope| spawn_chain(scope, &ran, 200_000));
            assert_eq!(ran.into_inner(), 200_001);
        });
    });
}

#[test]
fn a_body_may_wait_for_a_task_by_yielding() {
    in_own_process("a_body_may_wait_for_a_task_by_yielding", || {
        with_a_busy_hive(|busy| {
            let [outer, inner] = [(); 2].map(|()| AtomicBool::new(false));
            let until_set = |flag: &AtomicBool| {
                while !flag.load(Ordering::Acquire) {
                    hive::yield_now();
                }
            };
            busy.scope(|scope| {
                scope.spawn(|_| outer.store(true, Ordering::Release));
                busy.scope(|scope| {
                    scope.spawn(|_| {
                        until_set(&outer);
                        inner.store(true, Ordering::Release);
                    });
                    until_set(&inner);
                });
            });
        });
    });
}

#[test]
fn all_tasks_run_though_the_body_or_some_of_them_panic() {
    silence_panics("a task");
    with_a_busy_hive(|busy| {
        for body_panics in [false, true] {
            let ran = AtomicUsize::new(0);
            let scoped = || {
                busy.scope(|scope| {
                    for number in 0..3 {
                        let ran = &ran;
                        scope.spawn(move |_| {
                            ran.fetch_add(1, Ordering::Relaxed);
                            assert!(number != 1, "a task");
                        });
                    }
                    assert!(!body_panics, "a task's spawner");
                });
            };
            assert_eq!(panic_message(scoped), if body_panics { "a task's spawner" } else { "a task" });
            assert_eq!(ran.into_inner(), 3);
        }
    });
}

#[test]
fn threads_of_the_body_may_spawn_as_well() {
    with_a_busy_hive(|busy| {
        let (ran, spawned) = (AtomicUsize::new(0), Gate::new());
        busy.scope(|scope| {
            thread::scope(|threads| {
                for _ in 0..4 {
                    threads.spawn(|| {
                        (0..100).for_each(|_| {
                            scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
                        });
                        spawned.arrive();
                    });
                }
                wait_until(|| {
                    hive::yield_now();
                    spawned.arrived() == 4
                });
            });
        });
        assert_eq!(ran.into_inner(), 400);
    });
}
